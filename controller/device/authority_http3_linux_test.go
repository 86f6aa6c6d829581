package device

import (
	"errors"
	"strings"
	"testing"
)

// TestFirefoxKnowsWhoSpeaksHTTP3: Firefox is told of one host, and is not started with a page of it, which it would ask for by TCP.
func TestFirefoxKnowsWhoSpeaksHTTP3(t *testing.T) {
	const told = `user_pref("network.http.http3.alt-svc-mapping-for-testing", "page.test;h3=:443");`
	plain := kind{name: "firefox", files: map[string]string{"user.js": "// begins\n"}}
	for name, tc := range map[string]struct {
		authority Authority
		first     string
		told      bool
	}{
		"h2":                  {Authority{File: "a.pem"}, "http://green.test:8000/", false},
		"h3":                  {Authority{File: "a.pem", HTTP3: true}, "http://green.test:8000/", false},
		"h3 of a host":        {Authority{File: "a.pem", HTTP3: true, HTTP3Host: "page.test"}, "http://green.test:8000/", true},
		"a host, but not h3":  {Authority{File: "a.pem", HTTP3Host: "page.test"}, "https://page.test/", false},
		"a host, others know": {Authority{File: "a.pem", HTTP3: true}, "https://page.test/", false},
	} {
		k, _, err := firefoxTrusts(plain, &tc.authority, tc.first)
		if err != nil || strings.Contains(k.files["user.js"], told) != tc.told {
			t.Errorf("%s: %v, %s", name, err, k.files["user.js"])
		}
	}
	if _, _, err := firefoxTrusts(plain, &Authority{File: "a.pem", HTTP3: true, HTTP3Host: "page.test"}, "https://page.test/load.html"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("it begins with a page by HTTP/3: %v", err)
	}
	if plain.files["user.js"] != "// begins\n" {
		t.Errorf("others have %s", plain.files["user.js"])
	}
}
