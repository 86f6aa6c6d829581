// Package config is how a rig is set up: one commented TOML file, read strictly, then the
// environment, then flags.
//
// Everything has a default, in one function. What is unknown, of the wrong type or out of bounds is
// an error that names the file, the line, the key, and what was perhaps meant.
package config
