package enroll

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
)

// Token is the content of an invitation.
type Token struct {
	Secret      [32]byte
	Certificate [32]byte // SHA-256 of the hub's certificate
}

const (
	tokenVersion = 1
	tokenBytes   = 1 + 32 + 32 + 4
)

// Fingerprint returns that of the hub's certificate, as package fingerprint compares it.
func (t Token) Fingerprint() string { return hex.EncodeToString(t.Certificate[:]) }

// String returns a token as one word. Its checksum finds copies with missing or changed letters.
func (t Token) String() string {
	b := append([]byte{tokenVersion}, t.Secret[:]...)
	b = append(b, t.Certificate[:]...)
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b)))
}

// ParseToken reads a token. Its errors are sentences for the person who copied it.
func ParseToken(text string) (Token, error) {
	var t Token
	const again = "; copy the whole line that `eideticker fleet invite` prints"
	if n := base64.RawURLEncoding.EncodedLen(tokenBytes); len(text) != n {
		return t, fmt.Errorf("read the invitation: it has %d of %d letters%s", len(text), n, again)
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) != tokenBytes { // line ends are skipped
		return t, errors.New("read the invitation: it has letters that do not belong there" + again)
	}
	if b[0] != tokenVersion {
		return t, fmt.Errorf("read the invitation: version %d is unknown; update this program", b[0])
	}
	if sum := crc32.ChecksumIEEE(b[:tokenBytes-4]); sum != binary.BigEndian.Uint32(b[tokenBytes-4:]) {
		return t, errors.New("read the invitation: a letter was changed" + again)
	}
	copy(t.Secret[:], b[1:])
	copy(t.Certificate[:], b[33:])
	return t, nil
}

// newToken makes the token of an invitation to the hub with a certificate.
func newToken(fingerprint string) (Token, error) {
	var t Token
	sum, err := hex.DecodeString(strings.NewReplacer(":", "", " ", "").Replace(fingerprint))
	if err != nil || len(sum) != len(t.Certificate) {
		return t, fmt.Errorf("invite a rig: %.100q is not a SHA-256 of a certificate", fingerprint)
	}
	copy(t.Certificate[:], sum)
	_, err = rand.Read(t.Secret[:])
	return t, err
}
