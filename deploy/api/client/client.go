package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/api/fingerprint"
)

// Client talks to one rig. Its methods may be called from several goroutines.
type Client struct {
	base  *url.URL
	token string
	tls   *tls.Config
	http  *http.Client
}

const (
	maxToken    = 4096
	maxAnswer   = 64 << 20 // bytes
	maxSentence = 2000     // bytes of what a rig says of a failure

	continueTimeout = 5 * time.Second
	connectTimeout  = 15 * time.Second
	silence         = 150 * time.Second // where an answer is awaited; a rig gives a call less
)

// New makes a client of the rig at an address such as https://rig-3:8430. The token may be empty: a
// rig on this machine asks for none.
func New(address, token string) (*Client, error) {
	base, err := url.Parse(address)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%q is not an address of a rig: %w", address, err)
	case base.Scheme != "http" && base.Scheme != "https", base.Host == "", strings.Trim(base.Path, "/") != "",
		base.User != nil, base.RawQuery != "", base.Fragment != "":
		return nil, fmt.Errorf("%q is not an address of a rig: want one such as https://rig-3:8430", base.Redacted())
	case len(token) > maxToken || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return nil, errors.New("the token is none: it is a word of letters, digits and signs")
	}
	base.Path = ""
	c := &Client{base: base, token: token, tls: &tls.Config{MinVersion: tls.VersionTLS12}}
	c.http = &http.Client{
		Transport: c.transport(),
		CheckRedirect: func(r *http.Request, _ []*http.Request) error {
			return fmt.Errorf("it redirects to %s; use that address if it is the rig's", r.URL.Redacted())
		},
	}
	return c, nil
}

// transport gives up a rig that cannot be connected to; how long an answer may take is another
// matter, see [Client.patiently].
func (c *Client) transport() *http.Transport {
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: connectTimeout}).DialContext,
		TLSHandshakeTimeout: connectTimeout,
		TLSClientConfig:     c.tls, ExpectContinueTimeout: continueTimeout, ForceAttemptHTTP2: true,
	}
}

// Trust takes the rig for the right one if its certificate has this fingerprint, as eideticker
// serve prints it. Who else vouches for the certificate does not matter then. It is called before
// anything is asked.
func (c *Client) Trust(print string) error {
	if c.base.Scheme != "https" {
		return fmt.Errorf("rig %s has no certificate for the fingerprint; use https, or unset EIDETICKER_FINGERPRINT",
			c.base)
	}
	c.tls.InsecureSkipVerify = true // the fingerprint is looked at instead
	c.tls.VerifyConnection = func(s tls.ConnectionState) error {
		if len(s.PeerCertificates) == 0 {
			return errors.New("it has no certificate")
		}
		if got := fingerprint.Of(s.PeerCertificates[0].Raw); !fingerprint.Equal(got, print) {
			return fmt.Errorf("its certificate has another fingerprint, %s: it is another rig, or an attack", got)
		}
		return nil
	}
	return nil
}

// Close closes connections that are not in use.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// StatusError is what a rig says of a request that it does not carry out.
type StatusError struct {
	Status int
	What   string // a sentence; empty: none came

	told *api.Error // where it answers a call
}

func (e *StatusError) Error() string {
	if e.What == "" {
		return fmt.Sprintf("the rig answers %d %s", e.Status, http.StatusText(e.Status))
	}
	return "the rig says: " + e.What
}

// do sends a request and returns the answer, whose body the caller closes. An answer of another
// status than is wanted is a *StatusError.
func (c *Client) do(ctx context.Context, method, path string, body io.Reader, header http.Header,
	want ...int) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.base.String()+path, body)
	if err != nil {
		return nil, err
	}
	for name, values := range header {
		r.Header[name] = values
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	res, err := c.patiently(r)
	if err != nil {
		return nil, c.unreached(err)
	}
	if slices.Contains(want, res.StatusCode) {
		return res, nil
	}
	defer res.Body.Close() // was only read
	if told := toldIn(res); told != nil {
		return nil, &StatusError{Status: res.StatusCode, What: told.Message, told: told}
	}
	// the read error is part of the sentence
	text, _ := io.ReadAll(io.LimitReader(res.Body, maxSentence))
	return nil, c.status(res, text)
}
