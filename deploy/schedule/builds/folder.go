package builds

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/config"
)

// endings are the ends of the names of archives.
var endings = []string{".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz"}

// folder is a folder whose entries are builds: folders with a browser's program or the pages of a
// site, archives, and APKs.
type folder struct{ dir, of string }

func (f folder) list(_ context.Context, known map[string]api.Build) (all []api.Build, err error) {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		path := filepath.Join(f.dir, e.Name())
		st, err := os.Stat(path)
		if err != nil || strings.HasPrefix(e.Name(), ".") {
			continue // it has gone, or is not complete yet
		}
		name := e.Name()
		if st.IsDir() {
			if _, is := known[name]; !is && lacks(path, f.of) != "" {
				continue
			}
		} else if name = f.unended(name); name == e.Name() || !st.Mode().IsRegular() {
			continue
		}
		all = append(all, api.Build{Name: name, WallNS: st.ModTime().UnixNano()})
	}
	slices.SortFunc(all, func(a, b api.Build) int { return wording.Natural(a.Name, b.Name) })
	return all, nil
}

// endings returns the ends of the names of files that are builds.
func (f folder) endings() []string {
	if f.of == config.OfAndroid {
		return append(slices.Clone(endings), apkEnding)
	}
	return endings
}

// unended returns the name of an archive without its ending.
func (f folder) unended(name string) string {
	for _, end := range f.endings() {
		if rest, is := strings.CutSuffix(name, end); is && rest != "" {
			return rest
		}
	}
	return name
}

func (f folder) open(_ context.Context, b api.Build, _ string) (opened, error) {
	path := filepath.Join(f.dir, b.Name)
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		path, err = filepath.EvalSymlinks(path)
		return opened{tree: path, inPlace: true}, err
	}
	for _, end := range f.endings() {
		if st, err := os.Stat(path + end); err == nil && st.Mode().IsRegular() {
			return opened{archive: path + end}, nil
		}
	}
	return opened{}, errors.New("it is not in the feed's folder any more")
}

// lines is an index of one JSON object a line, in a file or at an address. The addresses of builds
// are relative to the index. With a key, each line must be signed by it: see [signature].
type lines struct{ at, key string }

// line is a build of such an index.
type line struct {
	Seq      int64     `json:"seq"`
	Revision string    `json:"revision"`
	Subject  string    `json:"subject"`
	Time     time.Time `json:"time"`
	URL      string    `json:"url"`
	SHA256   string    `json:"sha256"`
	Build    string    `json:"build"`
	Parent   string    `json:"parent"`

	Signature []byte `json:"signature"`
}

func (l lines) list(ctx context.Context, _ map[string]api.Build) ([]api.Build, error) {
	raw, err := readIndex(ctx, l.at)
	if err != nil {
		return nil, err
	}
	signed := func(line) error { return nil }
	if l.key != "" {
		if signed, err = signature(l.key); err != nil {
			return nil, err
		}
	}
	return parseLines(raw, signed)
}

// parseLines reads an index. signed returns an error if a line has no valid signature.
func parseLines(raw []byte, signed func(line) error) (all []api.Build, err error) {
	scan := bufio.NewScanner(bytes.NewReader(raw))
	scan.Buffer(nil, 64<<10)
	n := 0
	for scan.Scan() {
		n++
		if len(bytes.TrimSpace(scan.Bytes())) == 0 {
			continue
		}
		var in line
		if err := json.Unmarshal(scan.Bytes(), &in); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		sum, err := hex.DecodeString(in.SHA256)
		switch {
		case in.Seq <= 0 || in.Seq > 1<<53:
			return nil, fmt.Errorf("line %d: seq is %d: must be a positive number", n, in.Seq)
		case in.URL == "":
			return nil, fmt.Errorf("line %d: url is missing", n)
		case err != nil || len(sum) != 0 && len(sum) != 32:
			return nil, fmt.Errorf("line %d: sha256 is %.80q: must have 64 hexadecimal digits", n, in.SHA256)
		}
		if err := signed(in); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		b := api.Build{Seq: in.Seq, Name: in.Build, Revision: in.Revision, Parent: in.Parent,
			Subject: subject(in.Subject), URL: in.URL,
			SHA256: hex.EncodeToString(sum)}
		if b.Name == "" {
			b.Name = cmp.Or(in.Revision, strconv.FormatInt(in.Seq, 10))
		}
		if !in.Time.IsZero() {
			b.WallNS = in.Time.UnixNano()
		}
		all = append(all, b)
	}
	if err := scan.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", n+1, err)
	}
	slices.SortStableFunc(all, func(a, b api.Build) int { return cmp.Compare(a.Seq, b.Seq) })
	return all, nil
}

func (l lines) open(ctx context.Context, b api.Build, work string) (opened, error) {
	if !strings.Contains(l.at, "://") && !strings.Contains(b.URL, "://") { // files of this machine
		path := b.URL
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(l.at), path)
		}
		if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() {
			return opened{}, errors.Join(fmt.Errorf("%s is not a file", b.URL), err)
		}
		return opened{archive: path}, nil
	}
	address := b.URL
	if base, err := url.Parse(l.at); err == nil && base.Host != "" {
		to, err := base.Parse(b.URL)
		if err != nil {
			return opened{}, err
		}
		if base.Scheme == "https" && to.Scheme != "https" {
			return opened{}, fmt.Errorf("%s: an index at https names builds at https only", b.URL)
		}
		address = to.String()
	}
	return download(ctx, address, work)
}
