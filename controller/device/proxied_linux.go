package device

import (
	"fmt"
	"maps"
	"net"
	"net/url"
	"strings"
)

// byProxy returns the kind of browser that requests all pages from an HTTP proxy, also those of
// this machine.
func byProxy(k kind, address string) (kind, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return k, fmt.Errorf("use the proxy %s: %w", address, err)
	}
	arguments := k.arguments
	if k.name == "chromium" {
		k.arguments = func(profile string, width, height int, o BrowserOptions) []string {
			return append([]string{"--proxy-server=http://" + address, "--proxy-bypass-list=<-loopback>"},
				arguments(profile, width, height, o)...)
		}
		return k, nil
	}
	k.files = maps.Clone(k.files)
	k.files["user.js"] += "user_pref(\"network.proxy.type\", 1);\n" +
		"user_pref(\"network.proxy.allow_hijacking_localhost\", true);\n" +
		"user_pref(\"network.proxy.failover_direct\", false);\n"
	for _, scheme := range []string{"http", "ssl"} {
		k.files["user.js"] += fmt.Sprintf("user_pref(\"network.proxy.%s\", %q);\n"+
			"user_pref(\"network.proxy.%[1]s_port\", %[3]s);\n", scheme, host, port)
	}
	return k, nil
}

// in returns the kind of browser that connects to the other server. Websockets of Firefox, which
// would need a tunnel, reach the replaced one.
func (i *Instead) in(k kind) kind {
	if k.name == "chromium" {
		arguments := k.arguments
		k.arguments = func(profile string, width, height int, o BrowserOptions) []string {
			return append([]string{"--host-resolver-rules=MAP " + i.Of + " " + i.At},
				arguments(profile, width, height, o)...)
		}
		return k
	}
	origin := "http://" + i.Of + "/"
	script := fmt.Sprintf("function FindProxyForURL(url) { return url.startsWith(%q) || url.startsWith(%q) ? %q : "+
		"'DIRECT'; }", origin, strings.TrimSuffix(origin, ":80/")+"/", "PROXY "+i.At)
	k.files = maps.Clone(k.files)
	k.files["user.js"] += fmt.Sprintf("user_pref(\"network.proxy.type\", 2);\n"+
		"user_pref(\"network.proxy.allow_hijacking_localhost\", true);\n"+
		"user_pref(\"network.proxy.autoconfig_url\", \"data:application/x-ns-proxy-autoconfig,%s\");\n",
		url.PathEscape(script))
	return k
}
