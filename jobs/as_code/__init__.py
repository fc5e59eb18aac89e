"""Schedules as code: a file says which jobs there are to be, and a plan says what would change.

A window like the API: what a file may say is what the API's serializer takes, and what is done goes through the same
services, audit included. Jobs that no file manages are never touched.
"""
