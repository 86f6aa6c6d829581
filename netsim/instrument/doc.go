// Package instrument inserts measuring code into JavaScript.
//
// It only inserts. So a program keeps its lines, its comments and its parameter lists. [Rewrite]
// checks three laws:
//
//  1. The program without the insertions is the original, byte for byte.
//  2. An insertion contains no line terminator.
//  3. A program that does not parse, or would break a law, is returned unchanged with the reason.
//
// The insertions call functions of a runtime, which must be global. Their names are a letter and
// the plan's nonce:
//
//	E(id)         a function was entered; returns its frame d
//	R(d, value)   the frame ends; returns the value
//	K(d)          a catch block begins: frames above d ended by an exception
//	F(d), C(x)    a finally block begins and ends; it may run after R; x is the result of F(d)
//	s(d, value)   the frame is suspended by await or yield; returns the value
//	r(d, value)   the frame continues; returns the value
//	v(eval, text) returns the text for eval with insertions
//
// In pages, each insertion is between two marks. So the runtime can remove it from texts that the
// page reads. A mark is a vertical tab, or a form feed if the program has vertical tabs.
//
// A function ends without R if an exception leaves it. The runtime closes such frames at the next
// K, R or task. Time in for await between iterations counts as time of the function.
package instrument
