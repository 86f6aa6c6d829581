// Package manual writes and installs manual pages and shell completions of the program.
//
// Both come from the parser's model of commands, flags and arguments.
package manual
