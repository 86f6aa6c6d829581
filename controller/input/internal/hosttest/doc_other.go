//go:build !linux

// Package hosttest has helpers for tests in a VM. They run on Linux only.
package hosttest
