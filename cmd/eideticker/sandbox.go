package main

import (
	"net/netip"
	"net/url"
)

// unsandboxed warns a user of whom Chromium has no sandbox; empty for all others.
func unsandboxed(uid int) string {
	if uid != 0 {
		return ""
	}
	return "as root, Chromium runs pages without its sandbox; use another user"
}

// fromNetwork reports whether an address leads to another machine.
func fromNetwork(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "localhost" {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return err != nil || !ip.IsLoopback()
}
