// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"errors"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ErrUnauthenticated is the error for a request without a valid token.
var ErrUnauthenticated = errors.New("no valid token")

// Authenticator finds the users of tokens. It is safe for concurrent use.
type Authenticator struct {
	// Writer creates TokenReviews.
	Writer client.Writer
	// Anonymous is the user without a token. If it is empty, a token is required.
	Anonymous string
}

// User returns the user of a token; empty is no token. The error is ErrUnauthenticated if the API
// server does not accept the token.
func (a *Authenticator) User(ctx context.Context, token string) (*authenticationv1.UserInfo, error) {
	if token == "" {
		if a.Anonymous == "" {
			return nil, ErrUnauthenticated
		}
		return &authenticationv1.UserInfo{Username: a.Anonymous}, nil
	}
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
	if err := a.Writer.Create(ctx, review); err != nil {
		return nil, fmt.Errorf("TokenReview: %w", err)
	}
	if !review.Status.Authenticated {
		return nil, ErrUnauthenticated
	}
	return &review.Status.User, nil
}
