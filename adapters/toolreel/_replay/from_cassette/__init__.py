"""_replay/from_cassette"""
