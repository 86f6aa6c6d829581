package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/eideticker/eideticker/netsim/serve"
)

// maxTiming bounds a file of timing, bytes.
const maxTiming = 1 << 20

// timingFile is the YAML of netsim serve --timing.
type timingFile struct {
	Timing []timingRule `yaml:"timing"`
}

type timingRule struct {
	URL          string           `yaml:"url"`
	Latency      timingWait       `yaml:"latency"`
	FirstByte    timingWait       `yaml:"first-byte"`
	Chunks       []timingChunk    `yaml:"chunks"`
	CacheControl string           `yaml:"cache-control"`
	ETag         *bool            `yaml:"etag"`
	LastModified bool             `yaml:"last-modified"`
	Events       []timingEvent    `yaml:"events"`
	WebSocket    *timingWebSocket `yaml:"websocket"`
}

// timingWait and timingSize are a time and a number of bytes, which know their place if they are
// none.
type (
	timingWait time.Duration
	timingSize int64
)

// placedError is an error in a file.
type placedError struct {
	line, column int
	error
}

func placed(n ast.Node, err error) error {
	p := n.GetToken().Position
	return &placedError{p.Line, p.Column, err}
}

// scalar is the text of a value.
func scalar(n ast.Node, want string) (string, error) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, nil
	case *ast.IntegerNode, *ast.FloatNode:
		return n.GetToken().Value, nil
	}
	return "", placed(n, fmt.Errorf("must be %s", want))
}

func (w *timingWait) UnmarshalYAML(n ast.Node) error {
	text, err := scalar(n, "a time such as 20ms")
	if err != nil {
		return err
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return placed(n, fmt.Errorf("time %.100q: must be such as 20ms", text))
	}
	*w = timingWait(d)
	return nil
}

func (s *timingSize) UnmarshalYAML(n ast.Node) error {
	text, err := scalar(n, "a number of bytes such as 10KiB")
	if err != nil {
		return err
	}
	var size byteSize
	if err := size.UnmarshalText([]byte(text)); err != nil {
		return placed(n, err)
	}
	*s = timingSize(size)
	return nil
}

type timingChunk struct {
	To timingSize `yaml:"to"`
	At timingWait `yaml:"at"`
}

type timingEvent struct {
	At    timingWait `yaml:"at"`
	Event string     `yaml:"event"`
	ID    string     `yaml:"id"`
	Data  string     `yaml:"data"`
}

type timingWebSocket struct {
	Echo  bool            `yaml:"echo"`
	Sends []timingMessage `yaml:"sends"`
	Close timingWait      `yaml:"close"`
}

type timingMessage struct {
	At   timingWait `yaml:"at"`
	Text string     `yaml:"text"`
}

// readTiming reads a file of timing; "": there are no rules.
func readTiming(path string) ([]serve.Rule, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, usageError{fmt.Errorf("read timing: %w", err)}
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxTiming+1))
	if err != nil {
		return nil, fmt.Errorf("read timing: %w", err)
	}
	rules, err := parseTiming(text)
	if err != nil {
		return nil, usageError{fmt.Errorf("%s:%w", path, err)}
	}
	return rules, nil
}

// oneLine is a text without its ends of lines.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// decodeTiming decodes the file as it stands. A panic of the YAML library is an error of the file.
func decodeTiming(text []byte) (file timingFile, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("cannot be read as YAML: %v", p)
		}
	}()
	err = yaml.UnmarshalWithOptions(text, &file, yaml.Strict())
	return file, err
}

// parseTiming reads it strictly. Errors begin with line and column, where they are of one.
func parseTiming(text []byte) ([]serve.Rule, error) {
	if len(text) > maxTiming {
		return nil, fmt.Errorf(" larger than %d bytes", maxTiming)
	}
	file, err := decodeTiming(text)
	if err != nil {
		if at := (*placedError)(nil); errors.As(err, &at) {
			return nil, fmt.Errorf("%d:%d: %w", at.line, at.column, at.error)
		}
		var at yaml.Error
		if errors.As(err, &at) && at.GetToken() != nil {
			p := at.GetToken().Position
			return nil, fmt.Errorf("%d:%d: %s", p.Line, p.Column, oneLine(at.GetMessage()))
		}
		return nil, fmt.Errorf(" %s", oneLine(err.Error()))
	}
	if len(file.Timing) == 0 {
		return nil, errors.New(" no timing: must be a list under that key")
	}
	var rules []serve.Rule
	for i, r := range file.Timing {
		rule := serve.Rule{
			Pattern: r.URL, Timing: serve.Timing{Latency: time.Duration(r.Latency),
				FirstByte: time.Duration(r.FirstByte)},
			CacheControl: r.CacheControl, NoETag: r.ETag != nil && !*r.ETag, LastModified: r.LastModified,
		}
		for _, c := range r.Chunks {
			rule.Chunks = append(rule.Chunks, serve.Chunk{To: int64(c.To), At: time.Duration(c.At)})
		}
		for _, e := range r.Events {
			rule.Events = append(rule.Events, serve.Event{At: time.Duration(e.At), Name: e.Event, ID: e.ID,
				Data: e.Data})
		}
		if w := r.WebSocket; w != nil {
			rule.WebSocket = &serve.WebSocket{Echo: w.Echo, Close: time.Duration(w.Close)}
			for _, m := range w.Sends {
				rule.WebSocket.Sends = append(rule.WebSocket.Sends,
					serve.Message{At: time.Duration(m.At), Text: m.Text})
			}
		}
		if err := rule.Check(); err != nil {
			return nil, fmt.Errorf(" entry %d, %.200q: %w", i+1, r.URL, err)
		}
		rules = append(rules, rule)
	}
	return rules, nil
}
