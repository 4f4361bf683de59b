// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"fmt"

	"github.com/pintle-dev/pintle/internal/plan"
)

// maxUnread is how many values a plan names that no template reads. The others are counted.
const maxUnread = 20

// unread returns warnings about values that no template reads, such as misspelt ones. A plan without them is
// a plan, too: an error is a warning.
func (p *planner) unread(ctx context.Context, c *creation) []string {
	in := c.input()
	in.Release = c.job.Desired.Target.Name
	if in.Capabilities == nil {
		var err error
		if in.Capabilities, err = capabilitiesOf(c.config.RESTClientGetter, c.logs); err != nil {
			return []string{"values that no template reads were not looked for: " + err.Error()}
		}
	}
	defer c.job.retrier.ReleaseSlotAfter(renderPatience)()
	found, err := c.remote.Unread(ctx, in)
	if err != nil {
		return []string{"values that no template reads were not looked for: " + err.Error()}
	}
	var all []string
	for i, path := range found.Keys[:min(len(found.Keys), maxUnread)] {
		if len(path) == 0 {
			continue
		}
		from := plan.OriginOf(path, p.layers)
		text := fmt.Sprintf("no template reads value %s (%s)", plan.KeyOf(path), from.String())
		if like := found.Like[i]; like != "" {
			text += ": it may mean " + plan.KeyOf(append(path[:len(path)-1:len(path)-1], like))
		}
		all = append(all, text)
	}
	if more := len(found.Keys) - maxUnread; more > 0 {
		all = append(all, fmt.Sprintf("no template reads %d other values", more))
	}
	switch {
	case found.Unstable:
		all = append(all, fmt.Sprintf("%s not looked at: the chart renders differently each time", counted(found.Left)))
	case found.Left > 0:
		all = append(all, counted(found.Left)+" not looked at")
	}
	return all
}

// counted returns the subject of a sentence about values.
func counted(n int) string {
	if n == 1 {
		return "1 value that the chart has no default for was"
	}
	return fmt.Sprintf("%d values that the chart has no default for were", n)
}
