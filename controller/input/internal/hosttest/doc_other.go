//go:build !linux

// Package hosttest is what tests in a VM share. They are tests of Linux.
package hosttest
