package main

import (
	"fmt"
	"time"

	"github.com/eideticker/eideticker/analyze/terminal"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/server"
)

type serveTokenCmd struct {
	Add    tokenAddCmd    `cmd:"" help:"Add a token and print it. It is shown only once."`
	List   tokenListCmd   `cmd:"" help:"List all tokens."`
	Remove tokenRemoveCmd `cmd:"" help:"Remove a token at once."`
}

type tokenAddCmd struct {
	serveConfig
	Name  string        `arg:"" help:"Name of the owner, shown in jobs and logs."`
	Role  string        `enum:"view,run,admin" default:"run" help:"Rights: read, also run jobs, or all (default: run)."`
	Valid time.Duration `placeholder:"720h" help:"Validity of the token (default: unlimited)."`
}

func (tokenAddCmd) Help() string {
	return `Example:

  eideticker serve token add --role run --valid 2160h ci

The role view may read. run may also start and cancel jobs. admin may do everything.
Only a hash of the token is stored. A running rig accepts it at once.`
}

func (c tokenAddCmd) Run(e *env) error {
	if c.Valid < 0 {
		return usagef("--valid %v must be positive", c.Valid)
	}
	tokens, err := c.tokens()
	if err != nil {
		return err
	}
	secret, err := tokens.Add(c.Name, api.Role(c.Role), c.Valid, time.Now())
	if err != nil {
		return fmt.Errorf("add token: %w", err)
	}
	_, err = fmt.Fprintln(e.out, secret)
	return err
}

func (s serveConfig) tokens() (*server.Tokens, error) {
	conf, err := s.load("", "")
	if err != nil {
		return nil, err
	}
	return server.OpenTokens(conf.DataDir)
}

type tokenListCmd struct{ serveConfig }

func (tokenListCmd) Help() string { return "Example:\n\n  eideticker serve token list" }

func (c tokenListCmd) Run(e *env) error {
	tokens, err := c.tokens()
	if err != nil {
		return err
	}
	all, err := tokens.All()
	if err != nil {
		return err
	}
	var rows [][]string
	for _, t := range all {
		until := "for ever"
		if t.ExpiresWallNS != 0 {
			until = wallText(t.ExpiresWallNS)
			if t.Expired(time.Now()) {
				until += ", expired"
			}
		}
		rows = append(rows, []string{t.Name, string(t.Role), wallText(t.CreatedWallNS), until})
	}
	return terminal.Table(e.out, []string{"NAME", "ROLE", "MADE", "VALID UNTIL"}, rows)
}

type tokenRemoveCmd struct {
	serveConfig
	Name string `arg:"" help:"Name of the owner."`
}

func (tokenRemoveCmd) Help() string { return "Example:\n\n  eideticker serve token remove ci" }

func (c tokenRemoveCmd) Run(*env) error {
	tokens, err := c.tokens()
	if err != nil {
		return err
	}
	if err := tokens.Remove(c.Name); err != nil {
		return fmt.Errorf("remove token: %w", err)
	}
	return nil
}
