// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/inputs"
)

// ConnectionReference names the object in which hr describes another cluster.
func ConnectionReference(hr *helmv2.HelmRelease) string {
	if key, ok := inputs.KubeconfigConfigMap(hr); ok {
		return fmt.Sprintf("ConfigMap '%s'", key)
	}
	key, _ := inputs.KubeconfigSecret(hr)
	return fmt.Sprintf("Secret '%s'", key)
}

// identify reads the object in which hr describes another cluster into id. Without an error, id
// is of another cluster.
func identify(ctx context.Context, live client.Reader, workloads cluster.WorkloadOptions, hr *helmv2.HelmRelease, id *cluster.Identity) (err error) {
	name, ok := inputs.KubeconfigConfigMap(hr)
	if !ok {
		id.Kubeconfig, err = readKubeconfig(ctx, live, hr)
		return err
	}
	described := &corev1.ConfigMap{}
	if err = live.Get(ctx, name, described); err == nil {
		id.Workload, err = cluster.ParseWorkload(described.Data, hr.Namespace, workloads)
	}
	if err == nil {
		err = cloudAccount(ctx, live, hr, id.Workload)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", ConnectionReference(hr), err)
	}
	return nil
}

// cloudAccount reads the ServiceAccount whose annotations name an identity of a cloud. For other
// clusters the ServiceAccount must only exist, if hr is being deleted: without it tokens are no
// longer issued, and a namespace that is being deleted gets no new ServiceAccount.
func cloudAccount(ctx context.Context, live client.Reader, hr *helmv2.HelmRelease, to *cluster.Workload) error {
	if to.ServiceAccount.Name == "" || to.Cloud == "" && hr.DeletionTimestamp.IsZero() {
		return nil
	}
	account := &corev1.ServiceAccount{}
	if err := live.Get(ctx, to.ServiceAccount, account); err != nil {
		return err
	}
	if to.Cloud != "" {
		to.Annotations = account.Annotations
	}
	return nil
}

// readKubeconfig reads the kubeconfig that hr refers to. It is never nil without an error: nil
// would be the controller's own cluster.
func readKubeconfig(ctx context.Context, live client.Reader, hr *helmv2.HelmRelease) ([]byte, error) {
	name, ok := inputs.KubeconfigSecret(hr)
	if !ok {
		return nil, errors.New("spec.kubeConfig: neither secretRef nor configMapRef is there")
	}
	keys, what := []string{"value", "value.yaml"}, "'value' or 'value.yaml'"
	if key := hr.Spec.KubeConfig.SecretRef.Key; key != "" {
		keys, what = []string{key}, "'"+key+"'"
	}
	secret := &corev1.Secret{}
	if err := live.Get(ctx, name, secret); err != nil {
		return nil, fmt.Errorf("kubeconfig in key %s of Secret '%s': %w", what, name, err)
	}
	for _, key := range keys {
		if content := secret.Data[key]; len(content) > 0 {
			return content, nil
		}
	}
	return nil, fmt.Errorf("kubeconfig in key %s of Secret '%s': there is no such key, or it is empty", what, name)
}

// Tokens returns a function that requests tokens of ServiceAccounts.
func Tokens(accounts corev1client.ServiceAccountsGetter) cluster.TokenRequester {
	return func(ctx context.Context, account types.NamespacedName, audiences []string) (string, time.Time, error) {
		request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: audiences}}
		answer, err := accounts.ServiceAccounts(account.Namespace).CreateToken(ctx, account.Name, request, metav1.CreateOptions{})
		if err != nil {
			return "", time.Time{}, fmt.Errorf("ServiceAccount '%s': %w", account, err)
		}
		return answer.Status.Token, answer.Status.ExpirationTimestamp.Time, nil
	}
}
