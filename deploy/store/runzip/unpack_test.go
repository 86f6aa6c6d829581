package runzip

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/controller/session"
)

// entry is a file of a zip file.
type entry struct {
	name, content string
	change        func(*zip.FileHeader)
}

func packed(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		if e.change != nil {
			e.change(h)
		}
		w, err := z.CreateHeader(h)
		if err == nil {
			_, err = io.WriteString(w, e.content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func unpackInto(dir string, b []byte, l Limits) error {
	z, err := Open(bytes.NewReader(b), int64(len(b)), l)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return z.Unpack(context.Background(), root, nil)
}

// files lists all that is below a folder.
func files(t testing.TB, dir string) (names []string, bytes int64) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			names, bytes = append(names, name), bytes+info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names, bytes
}

// TestPackAndUnpack: unpacked files equal the packed ones, without hidden files, links and pins.
func TestPackAndUnpack(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	want := map[string]string{"run.json": "{}", "pictures/heat map.png": strings.Repeat("png", 1000), "log.txt": "",
		"a/b/c/d": "deep"}
	for name, content := range want {
		path := filepath.Join(from, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755),
			os.WriteFile(path, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	err := errors.Join(
		os.WriteFile(filepath.Join(from, session.KeyLogFile), []byte("secrets"), 0o600),
		os.WriteFile(filepath.Join(from, "a", "Network.KEYS"), []byte("secrets"), 0o600),
		os.WriteFile(filepath.Join(from, pinnedFile), nil, 0o600),
		os.WriteFile(filepath.Join(from, oldFile), nil, 0o600), os.WriteFile(filepath.Join(from, ".run.json.123"),
			[]byte("x"), 0o600),
		os.Mkdir(filepath.Join(from, ".making"), 0o755), os.WriteFile(filepath.Join(from, ".making", "x"), nil, 0o600),
		os.MkdirAll(filepath.Join(from, "traces/native/raw/x"), 0o755),
		os.WriteFile(filepath.Join(from, "traces/native/raw/perf.data"), []byte("addresses"), 0o600),
		os.WriteFile(filepath.Join(from, "traces/native/raw/x/y"), []byte("addresses"), 0o600),
		os.Symlink("/etc/passwd", filepath.Join(from, "link")))
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(from)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	var b bytes.Buffer
	var read int64
	if err := Pack(context.Background(), root, &b, func(n int64) { read += n }); err != nil {
		t.Fatal(err)
	}
	if size, err := Size(root); err != nil || size != read || size != 3006 {
		t.Errorf("%d bytes were read of %d, %v, want 3006", read, size, err)
	}
	if err := unpackInto(to, b.Bytes(), Limits{Bytes: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	names, _ := files(t, to)
	if len(names) != len(want) {
		t.Errorf("unpacked: %v", names)
	}
	for name, content := range want {
		if got, err := os.ReadFile(filepath.Join(to, filepath.FromSlash(name))); err != nil || string(got) != content {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	// Nor does what an older version has packed come out.
	old := t.TempDir()
	if err := unpackInto(old,
		packed(t, entry{name: "run.json", content: "{}"}, entry{name: session.KeyLogFile, content: "secrets"},
			entry{name: "run/traces/native/raw/perf.data", content: "addresses"}),
		Limits{Bytes: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	if names, _ := files(t, old); !slices.Equal(names, []string{"run.json"}) {
		t.Errorf("unpacked: %v", names)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if err := Pack(ended, root, io.Discard, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("nobody waits for it any more: %v", err)
	}
}

// TestHostileZips: each is refused with its reason, and nothing of it lies outside the folder.
//
// Fault: An upload is not a run, lies about sizes, or breaks off
// Fault: A pushed zip that bursts, lies or escapes
func TestHostileZips(t *testing.T) {
	good := packed(t, entry{name: "run.json", content: strings.Repeat("x", 1000)})
	many := make([]entry, maxFiles+1)
	for i := range many {
		many[i] = entry{name: fmt.Sprint(i)}
	}
	for name, tc := range map[string]struct {
		b    []byte
		want string
	}{
		"nothing":         {nil, "zip"},
		"text":            {[]byte("no zip file at all"), "zip"},
		"cut off":         {good[:len(good)-10], "zip"},
		"without files":   {packed(t), "no files"},
		"folders alone":   {packed(t, entry{name: "a/"}), "no files"},
		"up":              {packed(t, entry{name: "../up"}), "not the name"},
		"up, later":       {packed(t, entry{name: "a/../../up"}), "not the name"},
		"absolute":        {packed(t, entry{name: "/etc/passwd"}), "not the name"},
		"backslashes":     {packed(t, entry{name: `..\up`}), "not the name"},
		"a drive":         {packed(t, entry{name: "c:up"}), "not the name"},
		"control letters": {packed(t, entry{name: "a\nb"}), "not the name"},
		"no text":         {packed(t, entry{name: "a\xff"}), "not the name"},
		"a long name":     {packed(t, entry{name: strings.Repeat("a", 300)}), "not the name"},
		"a long path":     {packed(t, entry{name: strings.Repeat("aaaaaaaaa/", 50) + "a"}), "not the name"},
		"deep":            {packed(t, entry{name: strings.Repeat("a/", 20) + "a"}), "not the name"},
		"ends in a point": {packed(t, entry{name: "a./b"}), "not the name"},
		"twice":           {packed(t, entry{name: "a"}, entry{name: "A"}), "twice"},
		"a link": {packed(t,
			entry{"a", "/etc", func(h *zip.FileHeader) { h.SetMode(fs.ModeSymlink | 0o777) }}), "not a file"},
		"a device": {packed(t, entry{"a", "", func(h *zip.FileHeader) { h.SetMode(fs.ModeDevice | 0o777) }}),
			"not a file"},
		"many":   {packed(t, many...), "entries"},
		"a bomb": {packed(t, entry{name: "a", content: strings.Repeat("\x00", 65<<20)}), "times as many"},
		"large":  {packed(t, entry{name: "a", content: strings.Repeat("x", 3<<20)}), "over"},
		"large together": {packed(t, entry{name: "a", content: strings.Repeat("x", 1<<20)},
			entry{name: "b", content: strings.Repeat("x", 1<<20+1)}), "over"},
		"another checksum":  {with(good, "PK\x01\x02", 16, 1, 2, 3, 4), "checksum"},
		"less than claimed": {with(good, "PK\x01\x02", 24, 0xff, 0x07, 0, 0), "run.json"},
		"more than claimed": {with(good, "PK\x01\x02", 24, 10, 0, 0, 0), "run.json"},
		"encrypted":         {with(good, "PK\x01\x02", 8, 1), "encrypted"},
		"packed otherwise":  {with(good, "PK\x01\x02", 10, 99), "method 99"},
		// Fault: a zip with a file and a folder of one name is answered with an internal error.
		"a file and a folder":   {packed(t, entry{name: "a"}, entry{name: "a/b"}), "a file and a folder"},
		"a folder, then a file": {packed(t, entry{name: "x/A/b/c"}, entry{name: "x/a"}), "a file and a folder"},
	} {
		t.Run(name, func(t *testing.T) {
			base := t.TempDir()
			dir := filepath.Join(base, "in")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			limit := int64(2 << 20)
			if name == "a bomb" {
				limit = 1 << 40
			}
			err := unpackInto(dir, tc.b, Limits{Bytes: limit})
			if err == nil || !strings.Contains(err.Error(), tc.want) || !errors.Is(err, ErrRefused) {
				t.Errorf("%v, want %q", err, tc.want)
			}
			names, bytes := files(t, base)
			if slices.ContainsFunc(names, func(n string) bool { return !strings.HasPrefix(n, "in/") }) ||
				bytes > limit {
				t.Errorf("%d bytes were written: %v", bytes, names)
			}
		})
	}
}

// with returns a zip file with other bytes behind its last signature.
func with(b []byte, signature string, at int, bytes ...byte) []byte {
	c := slices.Clone(b)
	copy(c[strings.LastIndex(string(c), signature)+at:], bytes)
	return c
}

// TestTableIsBounded: a table of which every entry is one, however many, takes no memory for all of
// them.
//
// Fault: An upload is not a run, lies about sizes, or breaks off
func TestTableIsBounded(t *testing.T) {
	one := packed(t, entry{name: "a"})
	at := bytes.LastIndex(one, []byte("PK\x01\x02"))
	end := bytes.LastIndex(one, []byte("PK\x05\x06"))
	const n = 2_000_000
	b := slices.Concat(one[:at], bytes.Repeat(one[at:end], n), one[end:])
	tail := b[len(b)-22:]
	binary.LittleEndian.PutUint16(tail[8:], n&0xffff)
	binary.LittleEndian.PutUint16(tail[10:], n&0xffff)
	binary.LittleEndian.PutUint32(tail[12:], uint32(n*(end-at)))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := Open(bytes.NewReader(b), int64(len(b)), Limits{Bytes: 1 << 30})
	runtime.ReadMemStats(&after)
	if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "entries") {
		t.Errorf("%v", err)
	}
	if taken := after.TotalAlloc - before.TotalAlloc; taken > uint64(len(b)) {
		t.Errorf("%d bytes of memory were taken for a file of %d", taken, len(b))
	}
}

// FuzzUnpack: for any zip file, the written files are in the folder and within the allowed size.
func FuzzUnpack(f *testing.F) {
	f.Add(packed(f, entry{name: "run.json", content: "{}"}))
	f.Add(packed(f, entry{name: "../up", content: "x"}))
	f.Add(packed(f, entry{name: "a/", content: ""}, entry{name: "a/b", content: strings.Repeat("x", 10_000)}))
	f.Add(packed(f, entry{"a", "/etc", func(h *zip.FileHeader) { h.SetMode(fs.ModeSymlink | 0o777) }}))
	f.Add(with(packed(f, entry{name: "a", content: "abc"}), "PK\x01\x02", 24, 255, 255, 255, 255))
	f.Fuzz(func(t *testing.T, b []byte) {
		base := t.TempDir()
		dir := filepath.Join(base, "in")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		const limit = 1 << 20
		_ = unpackInto(dir, b, Limits{Bytes: limit}) // whether it is refused is up to the file
		names, bytes := files(t, base)
		if slices.ContainsFunc(names, func(n string) bool { return !strings.HasPrefix(n, "in/") }) || bytes > limit {
			t.Errorf("%d bytes were written: %q", bytes, names)
		}
	})
}
