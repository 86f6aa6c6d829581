package client

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode"
)

// unreached names the rig that a connection to has failed, without the path, which nobody has
// typed.
func (c *Client) unreached(err error) error {
	var failed *url.Error
	if errors.As(err, &failed) {
		err = failed.Err
	}
	var unknown *tls.CertificateVerificationError
	if errors.As(err, &unknown) {
		err = fmt.Errorf("%w; for a self-signed rig, give the fingerprint that eideticker serve prints, "+
			"by EIDETICKER_FINGERPRINT or --fingerprint", err)
	}
	return fmt.Errorf("talk to the rig at %s: %w", c.base.Host, err)
}

// status returns the error of an unexpected answer. It ignores the text of a page from a proxy in
// between.
func (c *Client) status(res *http.Response, text []byte) error {
	e := &StatusError{Status: res.StatusCode}
	kind, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
	switch {
	case kind == "text/plain":
		e.What = sentence(text)
	case res.StatusCode == http.StatusBadRequest && c.base.Scheme == "http" &&
		strings.Contains(string(text), "HTTPS server"):
		// the data came before the request was read
		e.What = "connections are encrypted, and its address is https://" + c.base.Host
	}
	return e
}

// sentence is a text on one line, of which no more is taken than a sentence has.
func sentence(text []byte) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(string(text[:min(len(text), maxSentence)]), "")))
}
