package report

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"path"
	"strings"
)

// maxInline limits the bytes of files in a single page. Browsers take texts up to 512 MiB.
const maxInline = 256 << 20

// files turns names of files in a run folder into addresses.
type files struct {
	folder fs.FS
	inline bool
	bytes  int64 // inlined so far
	err    error // why a file could not be inlined
}

// has reports whether a file is in the folder.
func (f *files) has(name string) bool {
	st, err := fs.Stat(f.folder, name)
	return err == nil && st.Mode().IsRegular()
}

// refer returns the address of a file, or "" if it is missing. In a single page the address is a
// data URI with the content.
func (f *files) refer(name string) string {
	if name == "" || !f.has(name) {
		return ""
	}
	if !f.inline {
		return (&url.URL{Path: name}).EscapedPath()
	}
	b, err := f.read(name)
	if err != nil {
		f.err = errors.Join(f.err, err)
		return ""
	}
	return "data:" + mediaType(name) + ";base64," + base64.StdEncoding.EncodeToString(b)
}

// addresses returns the addresses of files by their names, without missing ones.
func (f *files) addresses(names []string) (map[string]string, error) {
	all := map[string]string{}
	for _, name := range names {
		if all[name] != "" {
			continue
		}
		if address := f.refer(name); address != "" {
			all[name] = address
		}
	}
	return all, f.err
}

func (f *files) read(name string) ([]byte, error) {
	file, err := f.folder.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	b, err := io.ReadAll(io.LimitReader(file, maxInline-f.bytes+1))
	if err != nil {
		return nil, err
	}
	if f.bytes += int64(len(b)); f.bytes > maxInline {
		return nil, fmt.Errorf("video and pictures are over %d MiB, too much for a single file; share the folder",
			maxInline>>20)
	}
	return b, nil
}

// mediaType is by the ending alone, the same on every machine.
func mediaType(name string) string {
	switch strings.ToLower(path.Ext(name)) {
	case ".png":
		return "image/png"
	case ".jpg", ".jpeg":
		return "image/jpeg"
	case ".svg":
		return "image/svg+xml"
	case ".mp4":
		return "video/mp4"
	case ".json":
		return "application/json"
	}
	return "application/octet-stream"
}
