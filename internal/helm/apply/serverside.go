// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/util/retry"

	"github.com/pintle-dev/pintle/internal/helm/wait"
	"github.com/pintle-dev/pintle/internal/release"
)

// Method defines how the objects of a revision are applied.
type Method struct {
	ServerSide bool
	// Migrate is true if objects in the cluster were applied with the other method, or with an
	// unknown one. Their managed fields are read before they are applied.
	Migrate bool
	// Force replaces objects instead of merging. It has an effect on client-side apply only.
	Force bool
}

// serverSide applies objects on the API server.
type serverSide struct {
	ctx       context.Context //nolint:containedctx // it lives as long as one action
	log       func(format string, args ...any)
	method    *Method
	ownership *ownership
	lookups   *lookups
	dryRuns   *dryRuns
	// replacements are the objects that are deleted before they are applied.
	replacements *replacements
	waiter       *wait.Waiter
	changes      *ChangeLog
	// refused is called with each object that the API server refused.
	refused func(info *resource.Info, err error)
	// applied, if set, is called with each object that was applied, the sent and the live one.
	applied func(info *resource.Info, sent, live *unstructured.Unstructured)
	// unproven reports whether another client may have written the previous revision.
	unproven func() bool
}

// applyAll applies all objects, kind after kind in Helm's order. It returns the created and updated
// objects, even if others failed.
func (s *serverSide) applyAll(original, target kube.ResourceList) (*kube.Result, error) {
	result := &kube.Result{}
	// A rollback adds objects that have not been checked.
	added := target.Difference(original)
	if s.unproven() {
		added = target
	}
	if err := s.ownership.check(added); err != nil {
		return result, err
	}
	var failures []string
	for _, batch := range byKind(target) {
		created, migrates := make([]bool, len(batch)), make([]bool, len(batch))
		for i, info := range batch {
			// Original may contain the objects of the batch, which apply changes.
			migrates[i] = s.mustMigrate(info, original)
		}
		failed := len(failures) > 0
		errs := each(s.ctx, batch, func(i int, info *resource.Info) (err error) {
			if failed && s.replacements.has(info) {
				return errAfterFailures
			}
			created[i], err = s.apply(info, migrates[i])
			return err
		})
		for i, info := range batch {
			if mayDepend(errs[i]) {
				// Another object of the batch may have been applied since: Helm applies one after the
				// other.
				created[i], errs[i] = s.apply(info, migrates[i])
			}
			switch {
			case errs[i] != nil:
				s.refused(info, errs[i])
				failures = append(failures, fmt.Sprintf("cannot apply %s: %s", wait.ObjectName(info), errs[i]))
			case created[i]:
				result.Created.Append(info)
			default:
				result.Updated.Append(info)
			}
		}
	}
	if len(failures) > 0 {
		return result, errors.New(strings.Join(failures, " && "))
	}
	return result, nil
}

// mustMigrate reports whether client-side apply may own fields of an object. The dry run shows
// that. Without a dry run, an object that is new to the release is read only if it may exist.
func (s *serverSide) mustMigrate(info *resource.Info, original kube.ResourceList) bool {
	if result, ok := s.dryRuns.result(info); ok {
		return result.clientSideFields
	}
	return s.method.Migrate && (s.lookups.skipped.Load() || original.Contains(info))
}

// apply applies one object and reports whether the request created it. Fields of client-side apply
// would survive their removal from the chart. With migrateFirst, they are migrated beforehand.
// Otherwise the answer shows whether there are any.
func (s *serverSide) apply(info *resource.Info, migrateFirst bool) (created bool, err error) {
	body, err := s.dryRuns.takeBody(info)
	if err != nil {
		return false, err
	}
	if err := s.ownership.recheck(info, false); err != nil {
		return false, err
	}
	replaced, err := s.replacements.delete(info)
	if err != nil {
		return false, err
	}
	if migrateFirst && !replaced {
		if _, err := migrateManagedFields(info, true); err != nil {
			return false, err
		}
	}
	live, created, err := s.send(info, body)
	if err == nil && !hasClientSideFields(live) {
		return created, s.keep(info, live)
	}
	if err != nil && !apierrors.IsInvalid(err) {
		return false, err
	}
	// Fields of client-side apply can make the object invalid, as two ports of one name do.
	migrated, migrateErr := migrateManagedFields(info, true)
	if migrateErr != nil {
		return false, migrateErr
	}
	if err != nil && !migrated {
		return false, err
	}
	if live, _, err = s.send(info, body); err != nil {
		return false, err
	}
	return false, s.keep(info, live)
}

// keep stores the apply result of an object.
func (s *serverSide) keep(info *resource.Info, live runtime.Object) error {
	s.waiter.Written(info, live)
	if s.applied != nil {
		sent, isParsed := info.Object.(*unstructured.Unstructured)
		if answer, ok := live.(*unstructured.Unstructured); ok && isParsed {
			s.applied(info, sent, answer)
		}
	}
	return info.Refresh(live, true)
}

// migrateToClient moves the fields that server-side apply owns to client-side apply.
func migrateToClient(ctx context.Context, original, target kube.ResourceList) error {
	existing := target.Intersect(original)
	for i, err := range each(ctx, existing, func(_ int, info *resource.Info) error {
		_, err := migrateManagedFields(info, false)
		return err
	}) {
		if err != nil {
			return fmt.Errorf("%s: %w", wait.ObjectName(existing[i]), err)
		}
	}
	return nil
}

// send applies an object. The first request does not force conflicts. It is the only one if there
// are no other field managers, and its answer names them otherwise.
func (s *serverSide) send(info *resource.Info, body []byte) (live runtime.Object, created bool, err error) {
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		live, created, err = sendApply(s.ctx, info, body, "", metav1.PatchOptions{})
		if apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict) {
			if hasOwnershipConflict(err) {
				if err := s.ownership.recheck(info, true); err != nil {
					return err
				}
			}
			taken := s.conflicts(info, err)
			if live, created, err = sendApply(s.ctx, info, body, "", metav1.PatchOptions{Force: new(true)}); err == nil {
				s.changes.Take(taken...)
			}
		}
		return err
	})
	return live, created, err
}

// conflicts returns the fields that the apply takes from other field managers, and logs them.
func (s *serverSide) conflicts(info *resource.Info, err error) []release.TakenField {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	var taken []release.TakenField
	for _, cause := range status.Status().Details.Causes {
		manager := managerIn(cause.Message)
		if cause.Type != metav1.CauseTypeFieldManagerConflict || manager == fieldManager || manager == helmManager {
			continue
		}
		s.log("%s: taking over field %s: %s", wait.ObjectName(info), cause.Field, cause.Message)
		taken = append(taken, release.TakenField{Object: objectOf(info), Path: cause.Field, Manager: manager})
	}
	return taken
}

// managerIn returns the field manager that the cause of a conflict names. It is in the message
// only, as the first quoted part.
func managerIn(message string) string {
	_, rest, _ := strings.Cut(message, `"`)
	quoted, _ := strconv.QuotedPrefix(`"` + rest)
	manager, _ := strconv.Unquote(quoted)
	return manager
}

// sendApply sends one apply request. The Accept header is set if accept is not empty. The request
// is not cancelled with the action, so that its result is known.
func sendApply(ctx context.Context, info *resource.Info, body []byte, accept string, options metav1.PatchOptions) (live runtime.Object, created bool, err error) {
	options.FieldManager = fieldManager
	// An apply fails for unknown fields anyway, since it needs the types of all fields. Without
	// validation, the API server does not parse the body a second time to find duplicate keys. The
	// body has none, because it was encoded here.
	options.FieldValidation = metav1.FieldValidationIgnore
	request := info.Client.Patch(types.ApplyPatchType).
		NamespaceIfScoped(info.Namespace, info.Namespaced()).
		Resource(info.Mapping.Resource.Resource).
		Name(info.Name).
		VersionedParams(&options, metav1.ParameterCodec).
		Body(body)
	if accept != "" {
		request = request.SetHeader("Accept", accept)
	}
	var code int
	live, err = request.Do(context.WithoutCancel(ctx)).StatusCode(&code).Get()
	return live, code == http.StatusCreated, err
}
