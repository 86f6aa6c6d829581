// Package schematest checks files against JSON Schemas. Only tests import it.
package schematest

import (
	"bytes"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Compile returns a schema, or the part of it at a JSON pointer such as #/$defs/time.
func Compile(t testing.TB, schema []byte, pointer string) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	const name = "schema.json" // it calls itself something else, and either is right
	c := jsonschema.NewCompiler()
	if err := c.AddResource(name, doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(name + pointer)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Instance returns a file in YAML as the validator takes it.
func Instance(text string) (any, error) {
	asJSON, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return nil, err
	}
	return jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
}
