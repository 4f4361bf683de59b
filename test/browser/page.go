// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"
)

// pollEvery is the interval of checks of a condition.
const pollEvery = 20 * time.Millisecond

// Page is a page of the browser.
type Page struct {
	conn             *connection
	session, context string
	loaded           chan struct{}

	mu sync.Mutex
	// status is the HTTP status of the document, or of the last one that a script requested.
	status   int
	problems problems
}

func (p *Page) call(ctx context.Context, method string, params values, into any) error {
	return p.conn.call(ctx, p.session, method, params, into)
}

// Close closes the page and removes its cookies.
func (p *Page) Close(ctx context.Context) error {
	return p.conn.call(ctx, "", "Target.disposeBrowserContext", values{"browserContextId": p.context}, nil)
}

// Open opens an address, and returns its HTTP status when the page is loaded.
func (p *Page) Open(ctx context.Context, address string) (status int, err error) {
	return p.Load(ctx, func() error {
		var answer struct{ ErrorText string }
		if err := p.call(ctx, "Page.navigate", values{"url": address}, &answer); err != nil {
			return err
		}
		if answer.ErrorText != "" {
			return fmt.Errorf("open %s: %s", address, answer.ErrorText)
		}
		return nil
	})
}

// Load calls a function that leads to another page, and returns the HTTP status of that page when it
// is loaded.
func (p *Page) Load(ctx context.Context, begin func() error) (status int, err error) {
	select {
	case <-p.loaded:
	default:
	}
	if err := begin(); err != nil {
		return 0, err
	}
	select {
	case <-p.loaded:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	return p.Status(), nil
}

// Status returns the HTTP status of the document, or of the last one that its script has requested.
func (p *Page) Status() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status
}

// Evaluate evaluates an expression of JavaScript in the page, awaits its result, and decodes it. The
// policy of the page does not apply to the expression.
func (p *Page) Evaluate(ctx context.Context, expression string, into any) error {
	var answer struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	err := p.call(ctx, "Runtime.evaluate", values{"expression": expression, "awaitPromise": true, "returnByValue": true, "userGesture": true}, &answer)
	switch {
	case err != nil:
		return err
	case answer.ExceptionDetails != nil:
		return fmt.Errorf("%s %s", answer.ExceptionDetails.Text, answer.ExceptionDetails.Exception.Description)
	case into == nil:
		return nil
	}
	return json.Unmarshal(answer.Result.Value, into)
}

// Until waits until an expression is true.
func (p *Page) Until(ctx context.Context, expression string) error {
	for {
		var met bool
		// The evaluation fails while another page is loaded.
		err := p.Evaluate(ctx, expression, &met)
		if met && err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is not true: %w", expression, errors.Join(ctx.Err(), err))
		case <-time.After(pollEvery):
		}
	}
}

// HTML returns the document as it is now.
func (p *Page) HTML(ctx context.Context) (html string, err error) {
	return html, p.Evaluate(ctx, "document.documentElement.outerHTML", &html)
}

// Type types a text into the element with the focus.
func (p *Page) Type(ctx context.Context, text string) error {
	return p.call(ctx, "Input.insertText", values{"text": text}, nil)
}

// Press presses a key, such as "Tab" or "Enter".
func (p *Page) Press(ctx context.Context, key string) error {
	codes := map[string]int{"Tab": 9, "Enter": 13}
	down := values{"type": "rawKeyDown", "key": key, "code": key, "windowsVirtualKeyCode": codes[key]}
	if key == "Enter" {
		down["type"], down["text"] = "keyDown", "\r"
	}
	if err := p.call(ctx, "Input.dispatchKeyEvent", down, nil); err != nil {
		return err
	}
	return p.call(ctx, "Input.dispatchKeyEvent", values{"type": "keyUp", "key": key, "code": key, "windowsVirtualKeyCode": codes[key]}, nil)
}

// event handles an event of the page. It is called for one event at a time.
func (p *Page) event(method string, params json.RawMessage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if method == "Page.loadEventFired" {
		select {
		case p.loaded <- struct{}{}:
		default:
		}
		return
	}
	if status := p.problems.add(method, params); status != 0 {
		p.status = status
	}
}

// Problems returns what went wrong since the last call. Requests to addresses that do not begin with
// the given one are problems, too. The HTTP status of a document is not: Open and Status return it.
func (p *Page) Problems(origin string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.problems.take(origin)
}
