// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/pintle-dev/pintle/internal/cli/text"
)

// output is the value of the flag --output.
type output string

const (
	outputTable output = "table"
	outputWide  output = "wide"
	outputJSON  output = "json"
	outputYAML  output = "yaml"
)

func outputs() []string {
	return []string{string(outputTable), string(outputWide), string(outputJSON), string(outputYAML)}
}

// addOutput adds the flag --output to a command.
func (s *Session) addOutput(cmd *cobra.Command) {
	cmd.Flags().StringVarP((*string)(&s.out), "output", "o", string(outputTable), "Output format. One of: ("+strings.Join(outputs(), ", ")+").")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(outputs(), cobra.ShellCompDirectiveNoFileComp))
}

// check returns an error for an unknown format.
func (o output) check() error {
	if !slices.Contains(outputs(), string(o)) {
		return fmt.Errorf("unable to match a printer suitable for the output format %q, allowed formats are: %s", string(o), strings.Join(outputs(), ", "))
	}
	return nil
}

// style returns the style of texts.
func (s *Session) style() text.Style {
	return text.Style{Color: s.colors(), Wide: s.out == outputWide, Namespaces: s.all, Now: s.Now()}
}

// print prints a view as JSON or YAML, or with a function for tables.
func (s *Session) print(view any, table func(w io.Writer, style text.Style) error) error {
	switch s.out {
	case outputJSON:
		encoder := json.NewEncoder(s.Out)
		encoder.SetIndent("", "    ")
		encoder.SetEscapeHTML(false)
		return encoder.Encode(view)
	case outputYAML:
		raw, err := yaml.Marshal(view)
		if err != nil {
			return err
		}
		_, err = s.Out.Write(raw)
		return err
	case outputTable, outputWide:
	}
	return table(s.Out, s.style())
}
