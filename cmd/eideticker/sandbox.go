package main

import (
	"net/netip"
	"net/url"
)

// fromNetwork reports whether an address is on another machine.
func fromNetwork(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "localhost" {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return err != nil || !ip.IsLoopback()
}
