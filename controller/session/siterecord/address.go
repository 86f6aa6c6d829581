package siterecord

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"golang.org/x/net/idna"
)

// usualPorts are the ports that addresses omit.
var usualPorts = map[string]string{"http": "80", "https": "443"}

// parse returns an address as a browser requests it.
func parse(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("record %s: must be an http or https address", address)
	}
	u = new(url.URL).ResolveReference(u) // without dot segments
	u.Fragment, u.RawFragment, u.User = "", "", nil
	if u.Path == "" {
		u.Path = "/"
	}
	port := u.Port()
	u.Host = asBrowsersDo(u.Hostname())
	if port != "" && port != usualPorts[u.Scheme] {
		u.Host += ":" + port
	}
	u.RawQuery = queryEscaped(u.RawQuery)
	return u, nil
}

// names maps letters of hosts as browsers do, and leaves what they do not refuse.
var names = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(false),
	idna.CheckHyphens(false))

// asBrowsersDo returns a host as browsers write it.
func asBrowsersDo(host string) string {
	if ip, err := netip.ParseAddr(host); err == nil {
		if ip.Is6() {
			return "[" + ip.String() + "]"
		}
		return ip.String()
	}
	if ascii, err := names.ToASCII(host); err == nil {
		return ascii
	}
	return strings.ToLower(host)
}

// queryEscaped escapes what browsers escape in a query
// (https://url.spec.whatwg.org/#special-query-percent-encode-set).
func queryEscaped(query string) string {
	var b strings.Builder
	for _, c := range []byte(query) {
		if c <= ' ' || c > '~' || strings.IndexByte(`"#<>'`, c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}
