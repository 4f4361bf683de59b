// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// maxRights is the number of rights that are cached, for all users together.
	maxRights = 20_000
	// maxReviews is the number of concurrent reviews.
	maxReviews = 16
)

// Rights checks the rights of users. It is safe for concurrent use.
type Rights struct {
	writer  client.Writer
	answers *answers[bool]
}

// NewRights returns Rights. The writer creates SubjectAccessReviews.
func NewRights(writer client.Writer, now func() time.Time) *Rights {
	return &Rights{writer: writer, answers: newAnswers[bool](maxRights, maxReviews, now)}
}

// Allowed reports whether a user has a right. Everything that is known of the user is a part of the
// key of the cached answer.
func (r *Rights) Allowed(ctx context.Context, user *authenticationv1.UserInfo, right authorizationv1.ResourceAttributes) (bool, error) {
	extra := make(map[string]authorizationv1.ExtraValue, len(user.Extra))
	for key, values := range user.Extra {
		extra[key] = authorizationv1.ExtraValue(values)
	}
	spec := authorizationv1.SubjectAccessReviewSpec{
		ResourceAttributes: &right, User: user.Username, Groups: user.Groups, UID: user.UID, Extra: extra,
	}
	key, err := json.Marshal(spec)
	if err != nil {
		return false, fmt.Errorf("SubjectAccessReview: %w", err)
	}
	return r.answers.get(ctx, sha256.Sum256(key), func(ctx context.Context) (bool, error) {
		review := &authorizationv1.SubjectAccessReview{Spec: spec}
		if err := r.writer.Create(ctx, review); err != nil {
			return false, fmt.Errorf("SubjectAccessReview: %w", err)
		}
		return review.Status.Allowed && !review.Status.Denied, nil
	})
}
