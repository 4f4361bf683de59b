// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"
	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/util/retry"

	"github.com/pintle-dev/pintle/internal/helm/wait"
)

// parallel is how many requests about objects one job makes at a time.
const parallel = 8

// applyAll applies all objects, kind after kind in Helm's order, and returns
// what was created and updated, also if others failed.
func (c *client) applyAll(original, target kube.ResourceList) (*kube.Result, error) {
	result := &kube.Result{}
	// A rollback adds objects that were not checked.
	if err := c.adoption.check(target.Difference(original), "no object was changed"); err != nil {
		return result, err
	}
	var failures []string
	for _, batch := range byKind(target) {
		created := make([]bool, len(batch))
		errs := each(batch, func(i int, info *resource.Info) (err error) {
			created[i], err = c.apply(info, c.looksBefore(info, original))
			return err
		})
		for i, info := range batch {
			switch {
			case errs[i] != nil:
				c.inquest.refuse(info, errs[i])
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

// byKind cuts a list where the kind changes: objects of one kind do not need each
// other.
func byKind(list kube.ResourceList) []kube.ResourceList {
	var batches []kube.ResourceList
	for i, info := range list {
		if i == 0 || info.Mapping.GroupVersionKind.GroupKind() != list[i-1].Mapping.GroupVersionKind.GroupKind() {
			batches = append(batches, nil)
		}
		batches[len(batches)-1].Append(info)
	}
	return batches
}

// each calls do for every object, several at a time, and returns the errors by
// place.
func each(list kube.ResourceList, do func(i int, info *resource.Info) error) []error {
	errs := make([]error, len(list))
	var group errgroup.Group
	group.SetLimit(parallel)
	for i, info := range list {
		group.Go(func() error {
			errs[i] = do(i, info)
			return nil
		})
	}
	_ = group.Wait()
	return errs
}

// looksBefore reports whether an object may have fields that client-side applying
// left, so that it has to be looked at before it is applied. Trying it out has
// shown that. Where it was not tried out, an object that is new to the release is
// read only if it is known to exist, or was not read before.
func (c *client) looksBefore(info *resource.Info, original kube.ResourceList) bool {
	if t, ok := c.trial(info); ok {
		return t.traces
	}
	return c.applying.migrate && (c.looks.lookedAway() || original.Contains(info))
}

// apply applies one object and reports whether that created it. The first request does not
// force conflicts: it is the only one if there are no other field managers, and names them
// otherwise. Fields that the object owes to client-side applying
// would survive their removal from the chart: the answer shows whether there are
// any, unless it is said to look beforehand.
func (c *client) apply(info *resource.Info, look bool) (created bool, err error) {
	body, err := c.takeBody(info)
	if err != nil {
		return false, err
	}
	if err := c.adoption.recheck(info, false); err != nil {
		return false, err
	}
	if look {
		if _, err := migrate(info, true); err != nil {
			return false, err
		}
	}
	live, created, err := c.send(info, body)
	if err == nil && !clientSideTraces(live) {
		return created, c.applied(info, live)
	}
	if err != nil && !apierrors.IsInvalid(err) {
		return false, err
	}
	// Left-overs can also be what makes the object invalid: two ports of one name.
	migrated, migrateErr := migrate(info, true)
	if migrateErr != nil {
		return false, migrateErr
	}
	if err != nil && !migrated {
		return false, err
	}
	if live, _, err = c.send(info, body); err != nil {
		return false, err
	}
	return false, c.applied(info, live)
}

// applied takes note of what the API server made of an object.
func (c *client) applied(info *resource.Info, live runtime.Object) error {
	c.waiter.Written(info, live)
	if c.told != nil {
		sent, isParsed := info.Object.(*unstructured.Unstructured)
		if answer, ok := live.(*unstructured.Unstructured); ok && isParsed {
			c.told(info, sent, answer)
		}
	}
	return info.Refresh(live, true)
}

// send applies an object, by force if it must.
func (c *client) send(info *resource.Info, body []byte) (live runtime.Object, created bool, err error) {
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		live, created, err = c.patch(info, body, "", metav1.PatchOptions{})
		if apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict) {
			if disputes(err) {
				if err := c.adoption.recheck(info, true); err != nil {
					return err
				}
			}
			c.reportConflicts(info, err)
			live, created, err = c.patch(info, body, "", metav1.PatchOptions{Force: new(true)})
		}
		return err
	})
	return live, created, err
}

// patch sends one apply request; accept, if not empty, says in which form the
// answer is wanted. What applies is finished even if the job is cancelled.
func (c *client) patch(info *resource.Info, body []byte, accept string, options metav1.PatchOptions) (live runtime.Object, created bool, err error) {
	options.FieldManager = fieldManager
	// A field that does not exist is refused nonetheless, since an apply has to know the
	// types of all it is given. All that this leaves out is that the API server parses the
	// body once more, for keys that are there twice: what we encode has none.
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
	live, err = request.Do(context.WithoutCancel(c.ctx)).StatusCode(&code).Get()
	return live, code == http.StatusCreated, err
}

// reportConflicts logs which fields are taken from which managers.
func (c *client) reportConflicts(info *resource.Info, err error) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return
	}
	for _, cause := range status.Status().Details.Causes {
		own := strings.Contains(cause.Message, strconv.Quote(fieldManager)) || strings.Contains(cause.Message, strconv.Quote(helmManager))
		if cause.Type == metav1.CauseTypeFieldManagerConflict && !own {
			c.Log("%s: taking over field %s: %s", wait.ObjectName(info), cause.Field, cause.Message)
		}
	}
}

// prune deletes what is no longer part of the release and returns what is gone.
// As with Helm, what cannot be deleted is logged and left.
func (c *client) prune(list kube.ResourceList) kube.ResourceList {
	var deleted kube.ResourceList
	for _, info := range list {
		if err := info.Get(); err != nil {
			if !apierrors.IsNotFound(err) {
				c.Log("%s is not deleted: %s", wait.ObjectName(info), err)
			}
			continue
		}
		if object, err := meta.Accessor(info.Object); err == nil && object.GetAnnotations()[kube.ResourcePolicyAnno] == kube.KeepPolicy {
			c.Log("%s is kept, as its annotation %s asks", wait.ObjectName(info), kube.ResourcePolicyAnno)
			continue
		}
		if marks, theirs := c.adoption.others(info.Object); theirs {
			c.Log("%s is not deleted: it is of Helm release %s/%s by now", wait.ObjectName(info), marks.Namespace, marks.Name)
			continue
		}
		if _, errs := c.Delete(kube.ResourceList{info}); len(errs) > 0 {
			c.Log("%s is not deleted: %s", wait.ObjectName(info), errors.Join(errs...))
			continue
		}
		deleted.Append(info)
	}
	return deleted
}
