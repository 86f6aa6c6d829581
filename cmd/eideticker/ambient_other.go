//go:build !linux

package main

// keepRights does nothing: there are no ambient capabilities.
func keepRights() error { return nil }
