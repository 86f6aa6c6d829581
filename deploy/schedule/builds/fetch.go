package builds

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/eideticker/eideticker/deploy/config"
)

// Bounds of downloads.
const (
	maxIndex     = 64 << 20
	maxArchive   = 4 << 30
	indexTime    = time.Minute
	downloadTime = 30 * time.Minute
	maxRedirects = 10
)

// client follows redirects to addresses from which a rig may download.
var client = &http.Client{CheckRedirect: func(r *http.Request, via []*http.Request) error {
	switch {
	case len(via) >= maxRedirects:
		return fmt.Errorf("over %d redirects", maxRedirects)
	case !config.Fetchable(r.URL) || via[0].URL.Scheme == "https" && r.URL.Scheme != "https":
		return fmt.Errorf("redirect to %.200s: not https", r.URL)
	}
	return nil
}}

// fetch writes the content of an address.
func fetch(ctx context.Context, address string, to io.Writer, limit int64, timeout time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("timeout after %v", timeout))
	defer cancel()
	err := copyFrom(ctx, address, to, limit)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if inner := (*url.Error)(nil); errors.As(err, &inner) {
		err = inner.Err
	}
	if err != nil {
		return fmt.Errorf("download %.200s: %w", address, err)
	}
	return nil
}

func copyFrom(ctx context.Context, address string, to io.Writer, limit int64) error {
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	if !config.Fetchable(u) {
		return errors.New("it must begin with https://, or with http:// on the loopback")
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the server answers %s", answer.Status)
	}
	n, err := io.Copy(to, io.LimitReader(answer.Body, limit+1))
	if err == nil && n > limit {
		err = fmt.Errorf("it has over %d bytes", limit)
	}
	return err
}

// readIndex reads an index from an address or a file.
func readIndex(ctx context.Context, at string) ([]byte, error) {
	if strings.Contains(at, "://") {
		var b bytes.Buffer
		err := fetch(ctx, at, &b, maxIndex, indexTime)
		return b.Bytes(), err
	}
	st, err := os.Stat(at)
	if err == nil && (!st.Mode().IsRegular() || st.Size() > maxIndex) {
		err = fmt.Errorf("read %s: not a file of at most %d bytes", at, maxIndex)
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(at)
}

// download gets an archive into a folder.
func download(ctx context.Context, address, work string) (opened, error) {
	path := filepath.Join(work, "archive")
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return opened{}, err
	}
	err = fetch(ctx, address, out, maxArchive, downloadTime)
	return opened{archive: path, fetched: true}, errors.Join(err, out.Close())
}
