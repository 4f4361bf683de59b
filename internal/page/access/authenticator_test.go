// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"errors"
	"slices"
	"testing"
	"time"
)

// TestUser: a valid token is reviewed every 30 s, and an invalid one each time.
func TestUser(t *testing.T) {
	s, c := &server{tokens: map[string]string{"good": "ann"}}, newClock()
	a := NewAuthenticator(s, "", c.now)
	for _, tc := range []struct {
		token   string
		wait    time.Duration
		reviews int
	}{
		{token: "good", reviews: 1},
		{token: "good", wait: answerAge, reviews: 1},
		{token: "good", wait: 1, reviews: 2},
		{token: "bad", reviews: 3},
		{token: "bad", reviews: 4},
		{token: "", reviews: 4},
	} {
		c.add(tc.wait)
		user, err := a.User(t.Context(), tc.token)
		if good := tc.token == "good"; good != (err == nil) || good && user.Username != "ann" || !good && !errors.Is(err, ErrUnauthenticated) {
			t.Errorf("%+v: %+v, %v", tc, user, err)
		}
		if s.read != tc.reviews {
			t.Errorf("%+v: %d reviews", tc, s.read)
		}
	}
	delete(s.tokens, "good")
	c.add(answerAge + 1)
	if _, err := a.User(t.Context(), "good"); !errors.Is(err, ErrUnauthenticated) {
		t.Errorf("a token that is not valid any more: %v", err)
	}
	s.err = errors.New("unavailable")
	if _, err := a.User(t.Context(), "new"); err == nil || errors.Is(err, ErrUnauthenticated) {
		t.Errorf("without an answer: %v", err)
	}
}

// TestAnonymous: the anonymous user is not authenticated, and a token is preferred.
func TestAnonymous(t *testing.T) {
	s := &server{tokens: map[string]string{"good": "ann"}}
	a := NewAuthenticator(s, "guest", newClock().now)
	user, err := a.User(t.Context(), "")
	if err != nil || user.Username != "guest" || !slices.Equal(user.Groups, []string{"system:unauthenticated"}) || s.read != 0 {
		t.Errorf("%+v, %v, %d reviews", user, err, s.read)
	}
	if user, err = a.User(t.Context(), "good"); err != nil || user.Username != "ann" {
		t.Errorf("%+v, %v", user, err)
	}
	if _, err = a.User(t.Context(), "bad"); !errors.Is(err, ErrUnauthenticated) {
		t.Errorf("a token that is not valid: %v", err)
	}
}
