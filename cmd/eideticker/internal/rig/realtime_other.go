//go:build !linux

package rig

func favourThread() {}
