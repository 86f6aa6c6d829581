package recorder

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/raw"
	"github.com/eideticker/eideticker/capture/synth"
	"github.com/eideticker/eideticker/capture/v4l2"
	"github.com/eideticker/eideticker/capture/video"
	"github.com/eideticker/eideticker/capture/x11"
)

// ErrURI is wrapped by errors about a source's URI that no change of the world can mend.
var ErrURI = errors.New("bad source")

// Scheme describes one kind of source.
type Scheme struct {
	Name  string // "raw"
	Form  string // "raw:FILE?size=1920x1080&format=BGR4&fps=60[&stride=N]"
	About string

	file, device bool // what its target is
	open         func(ctx context.Context, target string, query url.Values) (capture.Source, error)
}

// Schemes lists the kinds of sources that can be opened.
func Schemes() []Scheme {
	return []Scheme{
		{"v4l2", "v4l2:/dev/video0[?input=0&format=BGR4&memory=mmap|userptr|dmabuf&edid=1920x1080@60]",
			"HDMI, DVI or USB, through a capture device", false, true, v4l2.Open},
		{"x11", "x11::9[?region=1280x720+0+0&cursor=0&fps=60]", "an X display, through shared memory", false, false,
			openX11},
		{"raw", "raw:FILE?size=1920x1080&format=BGR4&fps=60[&stride=N]",
			"raw frames from a file, or from standard input as raw:-", true, false, openRaw},
		{"y4m", "y4m:FILE", "Y4M video from a file, or from standard input as y4m:-", true, false, openY4M},
		{"video", "video:FILE|DIR", "a video file or a folder of pictures, decoded to BGR", true, false, openVideo},
		{"synth", "synth:SCENE[?size=…&fps=…&seed=…&frames=…&markers=1&pace=realtime|fast]",
			"a scene made by a script, whose truth is known", false, false, openSynth},
	}
}

// OpenSource opens what a URI names. An error that wraps [ErrURI] is a mistake in the URI itself;
// others are about what it names. The end of ctx ends a wait for a signal; it has no part in the
// source that is returned.
func OpenSource(ctx context.Context, uri string) (capture.Source, error) {
	scheme, target, query, err := parseURI(uri)
	if err != nil {
		return nil, err
	}
	src, err := scheme.open(ctx, target, query)
	if params := new(frame.ParamsError); errors.As(err, &params) {
		err = parameterError{err}
	}
	return src, err
}

// parameterError makes a source's word on its parameters an [ErrURI] without saying so twice.
type parameterError struct{ error }

func (p parameterError) Unwrap() error        { return p.error }
func (p parameterError) Is(target error) bool { return target == ErrURI }

// Reads reports whether a source of that URI reads the file at path. path must then not be written
// to.
func Reads(uri, path string) bool {
	scheme, target, _, err := parseURI(uri)
	return err == nil && scheme.file && SameFile(target, path)
}

// ReadsStandardInput reports whether a source of that URI does.
func ReadsStandardInput(uri string) bool {
	scheme, target, _, err := parseURI(uri)
	return err == nil && scheme.file && target == "-"
}

// SameDevice reports whether two URIs name one capture device, from which one stream can come at a
// time.
func SameDevice(a, b string) bool {
	one, target, _, err := parseURI(a)
	two, other, _, errB := parseURI(b)
	if err != nil || errB != nil || !one.device || !two.device {
		return false
	}
	return SameFile(target, other) || filepath.Clean(target) == filepath.Clean(other)
}

// IsDevice reports whether a URI names a capture device.
func IsDevice(uri string) bool {
	scheme, _, _, err := parseURI(uri)
	return err == nil && scheme.device
}

// SameFile reports whether two names are of one file.
func SameFile(a, b string) bool {
	in, errIn := os.Stat(a)
	out, errOut := os.Stat(b)
	return errIn == nil && errOut == nil && os.SameFile(in, out)
}

// WithParameter returns the URI with a parameter more. It fails if the URI has it already.
func WithParameter(uri, name, value string) (string, error) {
	_, rest, found := strings.Cut(uri, "?")
	if !found {
		return uri + "?" + name + "=" + value, nil
	}
	query, err := parseQuery(rest)
	if err != nil {
		return "", fmt.Errorf("%w %q: %w", ErrURI, uri, err)
	}
	if query.Has(name) {
		return "", fmt.Errorf("%w %q: %s is given twice, here and by a flag", ErrURI, uri, name)
	}
	return uri + "&" + name + "=" + value, nil
}

// parseURI cuts "SCHEME:TARGET?NAME=VALUE&…" at its first colon and first question mark. The target
// is taken as it is written, so that any file name without a question mark can stand there.
func parseURI(uri string) (Scheme, string, url.Values, error) {
	fail := func(format string, args ...any) (Scheme, string, url.Values, error) {
		return Scheme{}, "", nil, fmt.Errorf("%w %q: "+format, append([]any{ErrURI, uri}, args...)...)
	}
	before, rawQuery, hasQuery := strings.Cut(uri, "?")
	name, target, hasColon := strings.Cut(before, ":")
	schemes := Schemes()
	i := slices.IndexFunc(schemes, func(s Scheme) bool { return s.Name == name })
	if i < 0 {
		return fail("unknown scheme %q, known are %s", name, known())
	}
	if !hasColon && name != "x11" {
		return fail("nothing after the scheme, want %s", schemes[i].Form)
	}
	var query url.Values
	if hasQuery {
		var err error
		if query, err = parseQuery(rawQuery); err != nil {
			return fail("%w", err)
		}
	}
	return schemes[i], target, query, nil
}

// parseQuery reads NAME=VALUE&NAME=VALUE. Unlike in a web form a plus is a plus: regions are
// written with it.
func parseQuery(s string) (url.Values, error) {
	query := url.Values{}
	for pair := range strings.SplitSeq(s, "&") {
		name, value, ok := strings.Cut(pair, "=")
		value, err := url.PathUnescape(value)
		switch {
		case err != nil:
			return nil, fmt.Errorf("parameter %s: %w", name, err)
		case !ok || name == "" || value == "":
			return nil, fmt.Errorf("unknown parameter %q, want NAME=VALUE", pair)
		case query.Has(name):
			return nil, fmt.Errorf("parameter %s is given twice", name)
		}
		query.Set(name, value)
	}
	return query, nil
}

func known() string {
	var names []string
	for _, s := range Schemes() {
		names = append(names, s.Name)
	}
	return strings.Join(names, " ")
}

func needTarget(target, what string) error {
	if target == "" {
		return fmt.Errorf("%w: no %s given", ErrURI, what)
	}
	return nil
}

func openX11(_ context.Context, target string, query url.Values) (capture.Source, error) {
	return x11.Open(target, query)
}

func openRaw(_ context.Context, target string, query url.Values) (capture.Source, error) {
	if err := needTarget(target, "file"); err != nil {
		return nil, err
	}
	return raw.OpenRaw(target, query)
}

func openY4M(_ context.Context, target string, query url.Values) (capture.Source, error) {
	if err := needTarget(target, "file"); err != nil {
		return nil, err
	}
	if err := frame.CheckParams("y4m", query); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrURI, err)
	}
	return raw.OpenY4M(target)
}

func openVideo(_ context.Context, target string, query url.Values) (capture.Source, error) {
	if err := needTarget(target, "file or folder"); err != nil {
		return nil, err
	}
	return video.Open(target, query)
}

func openSynth(_ context.Context, target string, query url.Values) (capture.Source, error) {
	if err := needTarget(target, "scene"); err != nil {
		return nil, err
	}
	return synth.Open(target, query)
}
