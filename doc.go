// Package eideticker holds no code. It is the root of a module. README.md and ARCHITECTURE.md
// describe its parts. Tests of the whole module are here.
package eideticker
