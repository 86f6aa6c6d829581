package serve

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// maxTiming is the largest timing file in bytes.
const maxTiming = 1 << 20

// timingFile is a timing file.
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

// timingWait is a time, and timingSize a number of bytes. Their errors have the place in the file.
type (
	timingWait time.Duration
	timingSize int64
)

// placedError is an error at a place in a file.
type placedError struct {
	line, column int
	error
}

func placed(n ast.Node, err error) error {
	p := n.GetToken().Position
	return &placedError{p.Line, p.Column, err}
}

// scalar returns the text of a value.
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
	size, err := parseSize(text)
	if err != nil {
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

// parseSize reads a number of bytes such as 10KiB.
func parseSize(text string) (int64, error) {
	digits := strings.TrimRight(text, " KMGkmgiBb")
	factor, known := map[string]float64{"": 1, "b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "kib": 1 << 10,
		"mib": 1 << 20, "gib": 1 << 30}[strings.ToLower(strings.TrimSpace(text[len(digits):]))]
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil || !known || !(n*factor >= 1 && n*factor < 1<<53) {
		return 0, fmt.Errorf("size %.100q: must be such as 512MiB or 4GiB", text)
	}
	return int64(n * factor), nil
}

// ReadTiming reads a timing file. Its errors have the file, and line and column if they are known.
// An empty path has no rules.
func ReadTiming(path string) ([]Rule, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read timing: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxTiming+1))
	if err != nil {
		return nil, fmt.Errorf("read timing: %w", err)
	}
	rules, err := parseTiming(text)
	if err != nil {
		return nil, fmt.Errorf("%s:%w", path, err)
	}
	return rules, nil
}

// oneLine joins the lines of a text.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// decodeTiming decodes a file. A panic of the YAML library is an error of the file.
func decodeTiming(text []byte) (file timingFile, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("cannot be read as YAML: %v", p)
		}
	}()
	err = yaml.UnmarshalWithOptions(text, &file, yaml.Strict())
	return file, err
}

// parseTiming reads a file strictly. Errors begin with line and column if they are known.
func parseTiming(text []byte) ([]Rule, error) {
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
	var rules []Rule
	for i, r := range file.Timing {
		rule := Rule{
			Pattern: r.URL, Timing: Timing{Latency: time.Duration(r.Latency),
				FirstByte: time.Duration(r.FirstByte)},
			CacheControl: r.CacheControl, NoETag: r.ETag != nil && !*r.ETag, LastModified: r.LastModified,
		}
		for _, c := range r.Chunks {
			rule.Chunks = append(rule.Chunks, Chunk{To: int64(c.To), At: time.Duration(c.At)})
		}
		for _, e := range r.Events {
			rule.Events = append(rule.Events, Event{At: time.Duration(e.At), Name: e.Event, ID: e.ID,
				Data: e.Data})
		}
		if w := r.WebSocket; w != nil {
			rule.WebSocket = &WebSocket{Echo: w.Echo, Close: time.Duration(w.Close)}
			for _, m := range w.Sends {
				rule.WebSocket.Sends = append(rule.WebSocket.Sends,
					Message{At: time.Duration(m.At), Text: m.Text})
			}
		}
		if err := rule.Check(); err != nil {
			return nil, fmt.Errorf(" entry %d, %.200q: %w", i+1, r.URL, err)
		}
		rules = append(rules, rule)
	}
	return rules, nil
}
