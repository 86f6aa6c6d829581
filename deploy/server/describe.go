package server

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/deploy/api"
)

// schemas makes JSON Schemas of the wire's types, and keeps those that have names.
type schemas struct {
	named map[string]map[string]any
	order []reflect.Type
}

// of returns the schema of a type; of a structure, a reference to one of named.
func (s *schemas) of(t reflect.Type) map[string]any {
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Int, reflect.Int64:
		return map[string]any{"type": "integer"}
	case reflect.Uint64:
		return map[string]any{"type": "integer", "minimum": 0}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": s.of(t.Elem())}
	case reflect.Slice:
		if t == reflect.TypeFor[json.RawMessage]() {
			return map[string]any{"type": "object"}
		}
		return map[string]any{"type": "array", "items": s.of(t.Elem())}
	}
	s.add(t)
	return map[string]any{"$ref": "#/components/schemas/" + t.Name()}
}

// add puts a structure among those with names.
func (s *schemas) add(t reflect.Type) {
	if _, there := s.named[t.Name()]; there {
		return
	}
	properties := map[string]any{}
	schema := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	s.named[t.Name()] = schema
	s.order = append(s.order, t)
	var required []string
	for _, f := range fieldsOf(t) {
		p := s.of(f.typ)
		if about := f.about(); about != "" {
			if _, ref := p["$ref"]; ref {
				p = map[string]any{"allOf": []any{p}}
			}
			p["description"] = about
		}
		properties[f.name] = p
		if !f.optional {
			required = append(required, f.name)
		}
	}
	if len(required) > 0 {
		schema["required"] = required
	}
}

// field is one of a structure, as it is on the wire.
type field struct {
	name       string
	typ        reflect.Type
	optional   bool
	doc, limit string
}

func (f field) about() string {
	switch {
	case f.limit == "":
		return f.doc
	case f.doc == "":
		return f.limit
	}
	return f.doc + "; " + f.limit
}

// fieldsOf returns the fields of a structure, those of embedded ones as its own.
func fieldsOf(t reflect.Type) (all []field) {
	for f := range t.Fields() {
		if f.Anonymous {
			all = append(all, fieldsOf(f.Type)...)
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		all = append(all, field{name, f.Type, options == "omitempty", f.Tag.Get("doc"), f.Tag.Get("limit")})
	}
	return all
}

// openRPC describes the methods in the form of open-rpc.org, version 1.3.
func openRPC(version string) ([]byte, error) {
	s := &schemas{named: map[string]map[string]any{}}
	var methods []any
	for _, m := range api.Methods() {
		params := []any{}
		for _, f := range fieldsOf(reflect.TypeOf(m.Params)) {
			p := map[string]any{"name": f.name, "required": !f.optional, "schema": s.of(f.typ)}
			if about := f.about(); about != "" {
				p["description"] = about
			}
			params = append(params, p)
		}
		method := map[string]any{
			"name": m.Name, "summary": m.About, "paramStructure": "by-name", "params": params,
			"result": map[string]any{"name": "result", "schema": s.of(reflect.TypeOf(m.Result))},
			"x-role": m.Role, "x-websocket-only": m.Socket,
		}
		var errors []any
		for _, c := range api.Codes() {
			if slices.Contains(m.Errors, c.Code) {
				errors = append(errors, map[string]any{"code": c.Code, "message": c.About})
			}
		}
		if errors != nil {
			method["errors"] = errors
		}
		methods = append(methods, method)
	}
	s.of(reflect.TypeFor[api.Event]())
	s.of(reflect.TypeFor[api.PictureInfo]())
	return json.MarshalIndent(map[string]any{
		"openrpc":    "1.3.2",
		"info":       map[string]any{"title": "Eideticker rig", "version": version},
		"methods":    methods,
		"components": map[string]any{"schemas": s.named},
	}, "", "  ")
}

// apiReference is the part of API.md that follows from the types: methods, objects, codes.
func apiReference() string {
	s := &schemas{named: map[string]map[string]any{}}
	var b strings.Builder
	b.WriteString("## Methods\n\n")
	for _, m := range api.Methods() {
		fmt.Fprintf(&b, "### %s\n\n%s\n\nRole %s", m.Name, m.About, m.Role)
		if m.Socket {
			b.WriteString("; by websocket only")
		}
		b.WriteString(".")
		for i, c := range m.Errors {
			b.WriteString(map[bool]string{true: " Errors: ", false: ", "}[i == 0])
			fmt.Fprintf(&b, "%d", c)
		}
		if len(m.Errors) > 0 {
			b.WriteString(".")
		}
		p, r := reflect.TypeOf(m.Params), reflect.TypeOf(m.Result)
		for _, f := range fieldsOf(p) {
			s.of(f.typ)
		}
		s.of(r)
		if p != r {
			fmt.Fprintf(&b, " Returns %s.\n\n", typeName(r))
		} else {
			b.WriteString(" Returns what it took, as it is now.\n\n")
		}
		writeFields(&b, p, "parameter")
	}
	s.of(reflect.TypeFor[api.Event]())
	s.of(reflect.TypeFor[api.PictureInfo]())
	b.WriteString("## Objects\n\n")
	slices.SortStableFunc(s.order, func(a, b reflect.Type) int { return strings.Compare(a.Name(), b.Name()) })
	for _, t := range s.order {
		if len(fieldsOf(t)) == 0 {
			continue
		}
		fmt.Fprintf(&b, "### %s\n\n", t.Name())
		writeFields(&b, t, "field")
	}
	b.WriteString("## Error codes\n\n| code | name | HTTP | when |\n|---|---|---|---|\n")
	for _, c := range api.Codes() {
		fmt.Fprintf(&b, "| %d | %s | %d | %s |\n", c.Code, c.Name, c.HTTP, c.About)
	}
	return b.String()
}

func writeFields(b *strings.Builder, t reflect.Type, what string) {
	fields := fieldsOf(t)
	if len(fields) == 0 {
		b.WriteString("Takes nothing.\n\n")
		return
	}
	fmt.Fprintf(b, "| %s | type | what it is |\n|---|---|---|\n", what)
	for _, f := range fields {
		name := "`" + f.name + "`"
		if f.optional {
			name += " (optional)"
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", name, typeName(f.typ), f.about())
	}
	b.WriteString("\n")
}

// typeName is a type in the words of JSON.
func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return typeName(t.Elem())
	case reflect.Bool:
		return "boolean"
	case reflect.String:
		return "string"
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return "integer"
	case reflect.Float64:
		return "number"
	case reflect.Map:
		return "object of " + typeName(t.Elem())
	case reflect.Slice:
		if t == reflect.TypeFor[json.RawMessage]() {
			return "object"
		}
		return "array of " + typeName(t.Elem())
	}
	if t == reflect.TypeFor[api.Empty]() {
		return "an empty object"
	}
	return fmt.Sprintf("[%s](#%s)", t.Name(), strings.ToLower(t.Name()))
}
