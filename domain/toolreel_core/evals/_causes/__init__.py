"""Causes of lost runs: the settings, prompt parts and turns that decide them."""
