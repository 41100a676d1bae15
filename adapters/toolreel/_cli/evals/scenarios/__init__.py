"""``toolreel eval scenario``: scenarios of your own."""
