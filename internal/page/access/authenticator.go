// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ErrUnauthenticated is the error for a request without a valid token.
var ErrUnauthenticated = errors.New("no valid token")

// unauthenticated is the only group of the anonymous user.
const unauthenticated = "system:unauthenticated"

const (
	// maxTokens is the number of cached users, and maxTokenReviews the number of concurrent reviews.
	maxTokens       = 1000
	maxTokenReviews = 8
)

// Authenticator finds the users of tokens. It is safe for concurrent use.
type Authenticator struct {
	writer    client.Writer
	anonymous string
	users     *answers[*authenticationv1.UserInfo]
}

// NewAuthenticator returns an Authenticator. The writer creates TokenReviews. Requests without
// a token have the anonymous user; if it is empty, a token is required.
func NewAuthenticator(writer client.Writer, anonymous string, now func() time.Time) *Authenticator {
	return &Authenticator{writer: writer, anonymous: anonymous, users: newAnswers[*authenticationv1.UserInfo](maxTokens, maxTokenReviews, now)}
}

// User returns the user of a token; empty is no token. The error is ErrUnauthenticated if the API
// server does not accept the token. A valid token is cached by its digest, an invalid one is not
// cached. The user must not be changed.
func (a *Authenticator) User(ctx context.Context, token string) (*authenticationv1.UserInfo, error) {
	if token == "" {
		if a.anonymous == "" {
			return nil, ErrUnauthenticated
		}
		return &authenticationv1.UserInfo{Username: a.anonymous, Groups: []string{unauthenticated}}, nil
	}
	return a.users.get(ctx, sha256.Sum256([]byte(token)), func(ctx context.Context) (*authenticationv1.UserInfo, error) {
		review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
		if err := a.writer.Create(ctx, review); err != nil {
			return nil, fmt.Errorf("TokenReview: %w", err)
		}
		if !review.Status.Authenticated || review.Status.User.Username == "" {
			return nil, ErrUnauthenticated
		}
		return &review.Status.User, nil
	})
}
