// Package eideticker holds no code. It is the root of a module whose parts are described in
// README.md and ARCHITECTURE.md, and the place of tests about the module as a whole.
package eideticker
