package suite

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/controller/internal/strict"
)

// Tags of the types in test.go and step.go describe the files:
//
//	yaml   the key; "=" is a value that stands for itself, "-" is not part of the file;
//	also   another key for the same;
//	need   the key is required;
//	min    the minimum; for a duration, any value means that it must be positive;
//	max    the maximum.
//
// A type that is not written as a mapping has a method read, or a line in scalar. A type that may
// be written as the value of one key has that key's name in short.

// value reads a node into v, which holds the defaults. Messages call it what.
func (r *reader) value(v reflect.Value, n ast.Node, what string) error {
	n, err := r.Resolve(n)
	if err != nil {
		return err
	}
	if own, ok := v.Addr().Interface().(interface{ read(*reader, ast.Node) error }); ok {
		return own.read(r, n)
	}
	if n.Type() == ast.NullType {
		if v.Type() == reflect.TypeFor[*Colour]() {
			return r.Errorf(n, `%s has no value: # begins a comment, so write "#rrggbb" in quotes`, what)
		}
		return r.Errorf(n, "%s has no value", what)
	}
	if done, err := r.scalar(v, n, what); done {
		return err
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return r.value(v.Elem(), n, what)
	case reflect.Slice:
		return r.slice(v, n, what)
	case reflect.Map:
		return r.table(v, n, what)
	}
	return r.structure(v, n, what)
}

// scalar reads a value written as one word, and reports whether v is of that kind.
func (r *reader) scalar(v reflect.Value, n ast.Node, what string) (done bool, err error) {
	parse, want := r.parser(v, what)
	if parse == nil {
		return false, nil
	}
	s, quoted, ok := strict.Text(n)
	if !ok {
		return true, r.Errorf(n, "%s is %s: must be %s", what, strict.Kind(n), want)
	}
	switch n.(type) {
	case *ast.StringNode, *ast.LiteralNode:
		united := []reflect.Type{reflect.TypeFor[time.Duration](), reflect.TypeFor[Rate](), reflect.TypeFor[Bytes]()}
		if quoted && v.CanInt() && !slices.Contains(united, v.Type()) {
			return true, r.Errorf(n, "%s is text: must be %s, without quotes", what, want)
		}
	default:
		if v.Type() == reflect.TypeFor[string]() {
			return true, r.Errorf(n, "%s is %s: must be %s, so write %q in quotes", what, strict.Kind(n), want, s)
		}
	}
	if err := parse(s); err != nil {
		return true, r.Errorf(n, "%s: %v", what, err)
	}
	return true, nil
}

func (r *reader) slice(v reflect.Value, n ast.Node, what string) error {
	list, ok := n.(*ast.SequenceNode)
	if !ok {
		if _, _, scalar := strict.Text(n); !scalar || v.Type().Elem() == reflect.TypeFor[Step]() {
			return r.Errorf(n, "%s is %s: must be a list", what, strict.Kind(n))
		}
		list = &ast.SequenceNode{Values: []ast.Node{n}} // one stands for a list of one
	}
	all := reflect.MakeSlice(v.Type(), len(list.Values), len(list.Values))
	var wrongs problems
	for i, e := range list.Values {
		all.Index(i).Set(blank(v.Type().Elem()))
		if wrongs.add(r.value(all.Index(i), e, one(what))); r.enough() {
			break
		}
	}
	if len(wrongs) > 0 {
		return errors.Join(wrongs...)
	}
	if all.Len() > 0 { // an empty list says what none says
		v.Set(all)
	}
	return nil
}

// one returns what one of several is called.
func one(what string) string {
	switch what {
	case "measures", "masks", "steps", "fingers", "files":
		return strings.TrimSuffix(what, "s")
	case "policies":
		return "policy"
	}
	return what
}

func (r *reader) table(v reflect.Value, n ast.Node, what string) error {
	pairs, err := r.Pairs(n, what)
	if err != nil {
		return err
	}
	if len(pairs) == 0 {
		return nil
	}
	v.Set(reflect.MakeMap(v.Type()))
	var wrongs problems
	for _, p := range pairs {
		e := reflect.New(v.Type().Elem()).Elem()
		if wrongs.add(r.value(e, p.Value, p.Key)); r.enough() {
			break
		}
		v.SetMapIndex(reflect.ValueOf(p.Key), e)
	}
	return errors.Join(wrongs...)
}

// problems are the errors of the parts of a value.
type problems []error

func (p *problems) add(err error) {
	if err != nil {
		*p = append(*p, err)
	}
}

// full reports whether there are enough.
func (p *problems) full() bool { return len(*p) >= maxErrors }

// field is one of a struct's that is in files.
type field struct {
	reflect.StructField
	key, also string
}

func fields(t reflect.Type) (all []field) {
	for f := range t.Fields() {
		if key := f.Tag.Get("yaml"); key != "-" && key != "" {
			all = append(all, field{f, key, f.Tag.Get("also")})
		}
	}
	return all
}

func (r *reader) structure(v reflect.Value, n ast.Node, what string) error {
	all := fields(v.Type())
	if s, ok := v.Addr().Interface().(interface{ short() string }); ok && n.Type() != ast.MappingType &&
		n.Type() != ast.MappingValueType {
		i := slices.IndexFunc(all, func(f field) bool { return f.key == s.short() })
		if err := r.value(v.FieldByIndex(all[i].Index), n, what); err != nil {
			return err
		}
		return r.check(v, n, nil)
	}
	pairs, err := r.Pairs(n, what)
	if err != nil {
		return err
	}
	given, bad := map[string]string{}, map[string]bool{}
	var wrongs problems
	for _, p := range pairs {
		if r.enough() {
			return errors.Join(wrongs...)
		}
		i := slices.IndexFunc(all, func(f field) bool { return p.Key == f.key || p.Key == f.also })
		if i < 0 {
			wrongs.add(r.Errorf(p.At, "%s has no key %q%s", what, strict.Clip(p.Key), wording.Meant(p.Key, keys(all))))
			bad[wording.Nearest(p.Key, keys(all))] = true
			continue
		}
		f := all[i]
		if first, twice := given[f.key]; twice {
			wrongs.add(r.Errorf(p.At, "%s and %s are the same: one of them is enough", first, p.Key))
			continue
		}
		given[f.key] = p.Key
		if err := r.field(v.FieldByIndex(f.Index), f, p); err != nil {
			wrongs.add(err)
			bad[f.key] = true
		}
	}
	for _, f := range all {
		if _, there := given[f.key]; f.Tag.Get("need") != "" && !there && !bad[f.key] {
			wrongs.add(r.Errorf(n, "%s lacks %s", what, f.key))
			bad[f.key] = true
		}
	}
	if !r.enough() {
		wrongs.add(r.check(v, n, bad))
	}
	return errors.Join(wrongs...)
}

func (r *reader) field(v reflect.Value, f field, p strict.Pair) error {
	if err := r.value(v, p.Value, p.Key); err != nil {
		return err
	}
	low, high := f.Tag.Get("min"), f.Tag.Get("max")
	switch {
	case v.Type() == reflect.TypeFor[time.Duration]():
		if d := v.Int(); low != "" && d == 0 {
			return r.Errorf(p.Value, "%s: must be positive", p.Key)
		}
	case v.CanInt():
		if n := v.Int(); n < number(low, math.MinInt64) || n > number(high, math.MaxInt64) {
			return r.Errorf(p.Value, "%s is %d: must be %s to %s", p.Key, n, low, high)
		}
	case v.CanFloat() && low != "":
		if n := v.Float(); !(n >= float64(number(low, 0)) && n <= float64(number(high, 0))) {
			return r.Errorf(p.Value, "%s is %g: must be %s to %s", p.Key, n, low, high)
		}
	}
	return nil
}

// number reads a tag.
func number(tag string, otherwise int64) int64 {
	if n, err := strconv.ParseInt(tag, 10, 64); err == nil {
		return n
	}
	return otherwise
}

func keys(all []field) (names []string) {
	for _, f := range all {
		names = append(names, f.key)
	}
	return names
}

// check calls a type's own checks, and finds the places of their errors. Checks that need one of
// the bad keys are left out. Of other types than a test, all need all keys.
func (r *reader) check(v reflect.Value, n ast.Node, bad map[string]bool) error {
	var found []error
	switch c := v.Addr().Interface().(type) {
	case interface {
		checkWithout(*Known, map[string]bool) error
	}:
		found = Parts(c.checkWithout(&r.known, bad))
	case interface{ check(*Known) error }:
		if len(bad) == 0 {
			found = Parts(c.check(&r.known))
		}
	}
	for i, err := range found {
		at := n
		if w, ok := err.(*wrong); ok {
			for _, step := range w.path {
				at = r.below(at, step)
			}
		}
		found[i] = r.Errorf(at, "%v", err)
	}
	return errors.Join(found...)
}

// below returns a key's value or a list's element, or the node itself where the file has none such:
// a value that stands for its mapping, or a list of one.
func (r *reader) below(n ast.Node, step any) ast.Node {
	n, err := r.Resolve(n)
	if err != nil {
		return n
	}
	switch step := step.(type) {
	case int:
		if list, ok := n.(*ast.SequenceNode); ok && step < len(list.Values) {
			return list.Values[step]
		}
	case string:
		pairs, err := r.Pairs(n, "")
		if err != nil {
			return n
		}
		other := map[string]string{"sync": "end", "colour": "color"}[step]
		for _, p := range pairs {
			if p.Key == step || p.Key == other {
				return p.Value
			}
		}
	}
	return n
}

// wrong is a problem with a part of a type.
type wrong struct {
	path    []any // keys and indices from the type's own mapping
	problem string
}

func (w *wrong) Error() string { return w.problem }
