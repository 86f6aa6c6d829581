package doctor

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os/exec"
	"strings"
	"time"
)

// askTime is how long another program may take to answer.
const askTime = 5 * time.Second

// askService asks systemd for the state of the daemon's unit. An error of the context is in the
// answer, like all others.
func askService(ctx context.Context) (state map[string]string, err error) {
	systemctl, err := exec.LookPath("systemctl")
	if err != nil {
		return nil, errors.New("this machine has no systemctl")
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, systemctl, "show", serviceName,
		"--property=LoadState,ActiveState,SubState,UnitFileState,Result")
	cmd.Env = append(cmd.Environ(), "LC_ALL=C")
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		first, _, _ := strings.Cut(strings.TrimSpace(said.String()), "\n")
		return nil, fmt.Errorf("systemctl: %w: %s", err, first)
	}
	return parseState(string(out)), nil
}

// askRig asks the daemon on this machine whether it is well.
func askRig(ctx context.Context, at netip.AddrPort, encrypted bool) error {
	if at.Addr().IsUnspecified() { // it listens everywhere, so here too
		at = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), at.Port())
	}
	scheme := "http"
	if encrypted {
		scheme = "https"
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+at.String()+"/healthz", nil)
	if err != nil {
		return err
	}
	// Nothing is sent that anybody could misuse, and a certificate that a rig has made itself is
	// signed by nobody.
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	res, err := transport.RoundTrip(req)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, 500))
	err = errors.Join(err, res.Body.Close())
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", res.Status, strings.TrimSpace(string(body)))
	}
	return err
}

// parseState reads lines of "Name=value".
func parseState(out string) map[string]string {
	state := map[string]string{}
	for line := range strings.Lines(out) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			state[name] = value
		}
	}
	return state
}
