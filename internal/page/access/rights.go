// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Rights checks the rights of users. It is safe for concurrent use.
type Rights struct {
	// Writer creates SubjectAccessReviews.
	Writer client.Writer
}

// Allowed reports whether a user has a right.
func (r *Rights) Allowed(ctx context.Context, user *authenticationv1.UserInfo, right authorizationv1.ResourceAttributes) (bool, error) {
	extra := make(map[string]authorizationv1.ExtraValue, len(user.Extra))
	for key, values := range user.Extra {
		extra[key] = authorizationv1.ExtraValue(values)
	}
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		ResourceAttributes: &right, User: user.Username, Groups: user.Groups, UID: user.UID, Extra: extra,
	}}
	if err := r.Writer.Create(ctx, review); err != nil {
		return false, fmt.Errorf("SubjectAccessReview: %w", err)
	}
	return review.Status.Allowed, nil
}
