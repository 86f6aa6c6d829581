package session

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/eideticker/eideticker/controller/device"
)

// answerTimeout is how long a server may take to begin to answer.
const answerTimeout = 15 * time.Second

// reached says that what the test loaded could not have been: a browser shows a page of its own
// then, which would be measured like any other. It is looked for after the recording, so that no
// connection and no name is fresher than a user's. Where the browser is on another machine, nothing
// is known.
func (s *session) reached(ctx context.Context) error {
	all := slices.DeleteFunc(addresses(s.Test), func(a string) bool { return !strings.HasPrefix(a, "http") })
	if len(all) == 0 {
		return nil
	}
	if s.Test.Network.Replay != "" {
		return s.answered(all)
	}
	if d, known := description(s.Device); !known || !onThisMachine(d) {
		s.note("whether the device reached %s is not known here: its picture shows it", all[0])
		return nil
	}
	egress := s.egress()
	if egress != nil {
		s.note("the browser went to other machines through a proxy of the rig, which keeps tests of others from its own services: HTTP/3 was not spoken")
	}
	slices.Sort(all)
	for _, address := range slices.Compact(all) {
		said, err := reach(ctx, address, egress)
		if err != nil {
			return err
		}
		if said != "" {
			s.note("%s", said)
		}
	}
	return nil
}

// reach asks for an address as a browser of this machine does, which perhaps goes outside alone,
// and returns what is to be said of the answer.
func reach(ctx context.Context, address string, egress *device.EgressPolicy) (note string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, answerTimeout, fmt.Errorf("timeout after %v", answerTimeout))
	defer cancel()
	// which changes nothing at the server
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, address, nil)
	if err != nil {
		return "", err
	}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}
	if egress != nil {
		transport.Proxy, transport.DialContext = nil, egress.DialContext
	}
	defer transport.CloseIdleConnections()
	client := http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	answer, err := client.Do(request)
	var certificate *tls.CertificateVerificationError
	if errors.As(err, &certificate) {
		return fmt.Sprintf("this machine does not trust the certificate of %s: perhaps the browser showed a warning instead of the page", address), nil
	}
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		var of *url.Error // the address is said already
		if errors.As(err, &of) {
			err = of.Err
		}
		return "", fmt.Errorf("unreachable address: %s: %w", address, err)
	}
	_ = answer.Body.Close() // it has none
	if answer.StatusCode >= http.StatusBadRequest && answer.StatusCode != http.StatusMethodNotAllowed &&
		answer.StatusCode != http.StatusNotImplemented {
		return fmt.Sprintf("the server of %s answers %s: perhaps a page that says so is what was measured", address,
			answer.Status), nil
	}
	return "", nil
}
