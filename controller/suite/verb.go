package suite

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/input/script"
	"github.com/eideticker/eideticker/controller/internal/strict"
)

// verb is a key that a step may have, with its default action.
type verb struct {
	name  string
	blank Action
}

// What reading puts where a file says nothing.
const (
	DefaultTimeout = time.Minute
	defaultWait    = 10 * time.Second
	defaultAnswer  = 2 * time.Second
	defaultEvery   = 400 * time.Millisecond
	defaultSpread  = 100 * time.Millisecond
	defaultHold    = 50 * time.Millisecond
	defaultStroke  = 300 * time.Millisecond
	defaultTurn    = 50 * time.Millisecond
)

// DoubleClick is the time from press to press where a click or a tap is done several times.
const DoubleClick = 120 * time.Millisecond

// verbs returns all there are. The first of an action is the one that is written.
func verbs() []verb {
	click := Click{Button: input.Left, Times: 1, Hold: defaultHold}
	twice := click
	twice.Times = 2
	tap := Tap{Times: 1, Hold: defaultHold}
	tapTwice := tap
	tapTwice.Times = 2
	wheel := Wheel{Times: 1, Every: defaultTurn}
	return []verb{
		{"launch", Launch{}},
		{"load", Load{}},
		{"key", Key{Times: 1, Hold: defaultHold, Every: defaultEvery}},
		{"text", Text{}},
		{"click", click},
		{"double-click", twice},
		{"tap", tap},
		{"double-tap", tapTwice},
		{"move", Move{}},
		{"hover", Hover{}},
		{"drag", Drag{Button: input.Left, Duration: defaultStroke}},
		{"wheel", wheel},
		{"scroll", wheel},
		{"swipe", Swipe{Duration: defaultStroke}},
		{"pinch", Pinch{Duration: defaultStroke}},
		{"touch", Touch{}},
		{"replay", Replay{}},
		{"script", Script{}},
		{"wait", Wait{Timeout: defaultWait}},
		{"ping", Ping{Times: 1, Every: defaultEvery, Spread: defaultSpread, Expect: Expect{Timeout: defaultAnswer}}},
		{"sleep", Sleep{}},
		{"mark", Mark{}},
		{"network", Link{}},
		{"repeat", Loop{}},
	}
}

// blank returns what a value of a type is where the file says nothing.
func blank(t reflect.Type) reflect.Value {
	switch t {
	case reflect.TypeFor[Test]():
		return reflect.ValueOf(Test{Timeout: DefaultTimeout})
	case reflect.TypeFor[Expect]():
		return reflect.ValueOf(Expect{Timeout: defaultAnswer})
	case reflect.TypeFor[Recorded]():
		return reflect.ValueOf(Recorded{Weight: 1})
	}
	for _, v := range verbs() {
		if reflect.TypeOf(v.blank) == t {
			return reflect.ValueOf(v.blank)
		}
	}
	return reflect.Zero(t)
}

func verbNames() (names []string) {
	for _, v := range verbs() {
		names = append(names, v.name)
	}
	return names
}

// otherWords is what steps are called elsewhere.
var otherWords = map[string]string{
	"open": "load", "navigate": "load", "goto": "load", "go": "load", "url": "load", "page": "load", "start": "launch",
	"type": "text", "press": "key", "keys": "key",
	"pause": "sleep", "delay": "sleep", "event": "mark", "loop": "repeat", "until": "wait", "expect": "wait",
	"mouse": "click", "doubleclick": "double-click", "pan": "swipe",
	"zoom": "pinch",
}

// read reads a step: a mapping with one key.
func (s *Step) read(r *reader, n ast.Node) error {
	pairs, err := r.Pairs(n, "a step")
	switch {
	case err != nil:
		return err
	case len(pairs) == 0:
		return r.Errorf(n, "a step does nothing")
	}
	p := pairs[0]
	for _, v := range verbs() {
		if v.name != p.Key {
			continue
		}
		if len(pairs) > 1 {
			return r.Errorf(pairs[1].At,
				"a step does one thing: %s is beside %s; indent its keys, or begin a step with a dash",
				strict.Clip(pairs[1].Key), p.Key)
		}
		if _, text := p.Value.(*ast.StringNode); text && p.Key == "wait" {
			return r.Errorf(p.Value,
				"wait waits for the screen, such as {still: 1s} or {change: all}; a time is sleep: 2s")
		}
		s.Line = strict.Position(p.At).Line
		a := reflect.New(reflect.TypeOf(v.blank)).Elem()
		a.Set(reflect.ValueOf(v.blank))
		if err := r.value(a, p.Value, p.Key); err != nil {
			return err
		}
		s.Action = a.Interface().(Action)
		return nil
	}
	hint := wording.Meant(p.Key, verbNames())
	if w, ok := otherWords[p.Key]; ok {
		hint = fmt.Sprintf("; did you mean %s?", w)
	}
	return r.Errorf(p.At, "unknown step %q%s", strict.Clip(p.Key), hint)
}

// only reads an action that is one value.
func only[T any](r *reader, n ast.Node, what string, v *T) error {
	return r.value(reflect.ValueOf(v).Elem(), n, what)
}

func (l *Launch) read(r *reader, n ast.Node) error {
	var s string
	if err := only(r, n, "launch", &s); err != nil {
		return err
	}
	if s != "browser" {
		return r.Errorf(n, "launch: %q cannot be launched; did you mean browser?", strict.Clip(s))
	}
	return nil
}

func (l *Load) read(r *reader, n ast.Node) error {
	if err := only(r, n, "load", &l.URL); err != nil {
		return err
	}
	return r.problem(n, "load", checkLine(l.URL))
}

func (s *Script) read(r *reader, n ast.Node) error {
	if err := only(r, n, "script", &s.Text); err != nil {
		return err
	}
	if err := r.problem(n, "script", checkText(s.Text)); err != nil {
		return err
	}
	_, err := script.Parse(s.Text, 0, 0)
	var wrong *script.Error
	if errors.As(err, &wrong) { // the step is called that already
		err = fmt.Errorf("line %d: %w", wrong.Line, wrong.Err)
	}
	return r.problem(n, "script", err)
}

func (s *Sleep) read(r *reader, n ast.Node) error { return only(r, n, "sleep", &s.For) }

func (m *Mark) read(r *reader, n ast.Node) error {
	if err := only(r, n, "mark", &m.Kind); err != nil {
		return err
	}
	return r.problem(n, "mark", checkKind(m.Kind))
}

func (p *Point) read(r *reader, n ast.Node) error {
	if s, _, ok := strict.Text(n); ok && n.Type() == ast.StringType {
		p.Selector = s
		return r.problem(n, "place", checkSelector(s))
	}
	list, ok := n.(*ast.SequenceNode)
	if !ok || len(list.Values) != 2 {
		return r.Errorf(n, `a point is two numbers such as [300, 400] or ["50%%", "50%%"], or a selector`)
	}
	for i, c := range []*Coordinate{&p.X, &p.Y} {
		if err := r.value(reflect.ValueOf(c).Elem(), list.Values[i], []string{"x", "y"}[i]); err != nil {
			return err
		}
	}
	return nil
}

// read reads the steps of a repetition, and how deep it is in others.
func (l *Loop) read(r *reader, n ast.Node) error {
	if r.nesting++; r.nesting > maxNesting {
		return r.Errorf(n, "steps are repeated within each other more than %d deep", maxNesting)
	}
	defer func() { r.nesting-- }()
	type plain Loop // without this method
	return r.value(reflect.ValueOf((*plain)(l)).Elem(), n, "repeat")
}

// read reads the end of the content: markers, still 3s, event NAME or 20s. It may also be a mapping
// with the key end and one of those.
func (s *Sync) read(r *reader, n ast.Node) error {
	if _, _, scalar := strict.Text(n); !scalar {
		pairs, err := r.Pairs(n, "sync")
		switch {
		case err != nil:
			return err
		case len(pairs) != 1 || pairs[0].Key != "end":
			return r.Errorf(n, "sync: must be markers, or {end: still 3s}, {end: event NAME} or {end: 20s}")
		}
		if n, err = r.Resolve(pairs[0].Value); err != nil {
			return err
		}
	}
	t, _, ok := strict.Text(n)
	if !ok {
		return r.Errorf(n, "the end of the content is %s: must be markers, still 3s, event NAME or 20s", strict.Kind(n))
	}
	var err error
	if *s, err = parseSync(t); err != nil {
		return r.Errorf(n, "%v", err)
	}
	return nil
}

func (r *reader) problem(n ast.Node, what string, err error) error {
	if err != nil {
		return r.Errorf(n, "%s: %v", what, err)
	}
	return nil
}
