// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"context"
	"fmt"
)

// axeRun returns the violations of all rules, one text for each element.
const axeRun = `(async () => {
  const result = await axe.run(document, {resultTypes: ["violations"]});
  return result.violations.flatMap((v) => v.nodes.map((n) => v.id + " (" + v.help + "): " + n.target.join(" ") + ": " + n.html + ": " + n.failureSummary));
})()`

// Axe returns the violations that axe-core finds on the page. source is the text of its script,
// which the page need not serve.
func (p *Page) Axe(ctx context.Context, source string) (violations []string, err error) {
	var loaded bool
	if err := p.Evaluate(ctx, `typeof axe !== "undefined"`, &loaded); err != nil {
		return nil, err
	}
	if !loaded {
		if err := p.Evaluate(ctx, source, nil); err != nil {
			return nil, fmt.Errorf("axe-core: %w", err)
		}
	}
	return violations, p.Evaluate(ctx, axeRun, &violations)
}
