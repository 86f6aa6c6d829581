package instrument

import (
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"
)

const moduleName = "(module)"

// Module returns a program of Node with insertions. A CommonJS module is the body of a function,
// which is listed as (module). A program that cannot be rewritten is returned unchanged and listed
// with the reason.
func (in *Instrument) Module(url, src string, commonJS bool) string {
	if commonJS {
		body := src
		if strings.HasPrefix(body, "#!") {
			body = "//" + body[2:]
		}
		c := in.rewrite(body, commonJSGoal, "")
		if c.reason == "" {
			in.serves(url, position{1, 1}, body, c)
			if body != src {
				return hashbang(c.result.Text)
			}
			return c.result.Text
		}
		// Node reads a file without a type as a module if it is not a script.
		if m := in.rewrite(src, moduleGoal, ""); m.reason != "" {
			in.servesPlain(url, "commonjs", hashOf(src), len(src), unwrapped(c.reason))
			return src
		}
	}
	c := in.rewrite(src, moduleGoal, "")
	if in.serves(url, position{1, 1}, src, c); c.reason != "" {
		return src
	}
	return c.result.Text
}

// unwrapped returns a reason with the column of the text without its head.
func unwrapped(reason string) string {
	column, why := 0, ""
	if rest, ok := strings.CutPrefix(reason, "1:"); ok {
		if number, after, ok := strings.Cut(rest, ":"); ok {
			column, _ = strconv.Atoi(number) // else it is not a position
			why = after
		}
	}
	head := len(commonJSGoal.begin())
	if column <= head {
		return reason
	}
	return fmt.Sprintf("1:%d:%s", column-head, why)
}

// hashbang restores the first line of a text that was rewritten with a comment in its place. An
// insertion before the comment moves to the next line.
func hashbang(text string) string {
	inserted, rest, _ := strings.Cut(text, "//")
	first, rest, _ := strings.Cut(rest, "\n")
	return "#!" + first + "\n" + inserted + rest
}

// NewNonce returns a part of names that programs hardly use: a dollar sign, a letter, a digit, a
// letter. It is short, because it is in every insertion. Its length is the same in all runs.
func NewNonce() string {
	random := make([]byte, 3)
	rand.Read(random) // it never fails
	return fmt.Sprintf("$%c%d%c", 'a'+random[0]%26, random[1]%10, 'a'+random[2]%26)
}
