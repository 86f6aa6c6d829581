package config

import "reflect"

// keys are all that a configuration may have.
func keys() []string { return keysOf("", reflect.TypeFor[Config]()) }

func keysOf(prefix string, t reflect.Type) (all []string) {
	for f := range t.Fields() {
		key := prefix + f.Tag.Get("toml")
		all = append(all, key)
		if f.Type.Kind() == reflect.Struct {
			all = append(all, keysOf(key+".", f.Type)...)
		}
	}
	return all
}
