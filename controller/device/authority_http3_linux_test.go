package device

import (
	"strings"
	"testing"
)

// TestFirefoxAsksWhoSpeaksHTTP3: Firefox asks names for it if it is to speak HTTP/3, and nobody
// else's profile is changed.
func TestFirefoxAsksWhoSpeaksHTTP3(t *testing.T) {
	plain := kind{name: "firefox", files: map[string]string{"user.js": "// begins\n"}}
	for _, http3 := range []bool{false, true} {
		k, _, err := firefoxTrusts(plain, &Authority{File: "a.pem", HTTP3: http3})
		if text := k.files["user.js"]; err != nil ||
			strings.Contains(text, `user_pref("network.dns.native_https_query", true);`) != http3 {
			t.Errorf("h3 %v: %v, %s", http3, err, text)
		}
	}
	if plain.files["user.js"] != "// begins\n" {
		t.Errorf("others have %s", plain.files["user.js"])
	}
}
