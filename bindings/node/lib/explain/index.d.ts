export * from 'tenure-explain/node';
