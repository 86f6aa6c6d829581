//go:build !linux

package main

// keepRights does nothing: only Linux has ambient capabilities.
func keepRights() error { return nil }
