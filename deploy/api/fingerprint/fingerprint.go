// Package fingerprint computes fingerprints of self-signed certificates, which people compare.
package fingerprint

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"strings"
)

// Of returns a certificate's fingerprint, as people compare it: the SHA-256 of all of it, in
// hexadecimal with colons.
func Of(certificate []byte) string {
	sum := sha256.Sum256(certificate)
	text := strings.ToUpper(hex.EncodeToString(sum[:]))
	var b strings.Builder
	for i := 0; i < len(text); i += 2 {
		if i > 0 {
			b.WriteByte(':')
		}
		b.WriteString(text[i : i+2])
	}
	return b.String()
}

// Equal reports whether two fingerprints are one, with or without colons, in large or small
// letters.
func Equal(a, b string) bool {
	return subtle.ConstantTimeCompare([]byte(plain(a)), []byte(plain(b))) == 1
}

func plain(s string) string { return strings.ToUpper(strings.NewReplacer(":", "", " ", "").Replace(s)) }
