package device

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// endpointAgain is how often it is looked whether a browser has said where it listens.
const endpointAgain = 20 * time.Millisecond

// Endpoint returns where a browser that was started with Remote makes sessions of WebDriver BiDi,
// once it does. It listens on the loopback, so whoever runs programs on this machine can reach it.
func (b *Browser) Endpoint(ctx context.Context) (string, error) {
	if b.endpoint == "" {
		return "", fmt.Errorf("%s does not support WebDriver BiDi: %w", b.name, errors.ErrUnsupported)
	}
	again := time.NewTicker(endpointAgain)
	defer again.Stop()
	for {
		raw, err := os.ReadFile(filepath.Join(b.profile.dir, b.endpoint))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("find the WebDriver BiDi port of %s: %w", b.name, err)
		}
		// The file is written in place: an incomplete one is read again.
		if address, ok := parseEndpoint(raw); ok {
			return address, nil
		}
		select {
		case <-again.C:
		case <-b.process.done:
			return "", b.process.err
		case <-ctx.Done():
			return "", fmt.Errorf("%w, while it was waited for %s to say where it listens for WebDriver BiDi",
				context.Cause(ctx), b.name)
		}
	}
}

// parseEndpoint reads what Firefox writes into its profile, of
// remote/webdriver-bidi/WebDriverBiDi.sys.mjs: {"ws_host": "127.0.0.1", "ws_port": 41321}.
func parseEndpoint(raw []byte) (address string, ok bool) {
	var said struct {
		Host string `json:"ws_host"`
		Port uint16 `json:"ws_port"`
	}
	if json.Unmarshal(raw, &said) != nil || said.Port == 0 {
		return "", false
	}
	if ip := net.ParseIP(said.Host); ip == nil || !ip.IsLoopback() { // nothing else is meant to be reached
		return "", false
	}
	return "ws://" + net.JoinHostPort(said.Host, strconv.Itoa(int(said.Port))) + "/session", true
}
